import { controllerWith, moduleOf } from './decorate.mjs';

export const bare = () => moduleOf({ controllers: [controllerWith()] });
