import { Controller, Get } from '@nestjs/common';
import { FreqLimit } from 'nestjs-freq-limit';

// protected generateKey(context, tracker, name) { return `${name}-${tracker}` }
const EXPORTS = { name: 'exports', window: '1h', limit: 2, scope: 'app' } as const;

@Controller('users')
export class UsersController {
  @Get('export')
  @FreqLimit(EXPORTS)
  export() {
    return 'users';
  }
}

@Controller('orders')
export class OrdersController {
  @Get('export')
  @FreqLimit(EXPORTS) // shares its counter with users/export
  export() {
    return 'orders';
  }
}
