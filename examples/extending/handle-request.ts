import { Controller, Get, Inject, Req } from '@nestjs/common';
import { FreqLimitService } from 'nestjs-freq-limit';

interface Request {
  readonly user: { readonly id: string };
}

@Controller('search')
export class SearchController {
  constructor(@Inject(FreqLimitService) private readonly limits: FreqLimitService) {}

  // protected async handleRequest(props) { … }: over the limit, users get cached results instead of 429
  @Get()
  async search(@Req() { user }: Request) {
    const { allowed } = await this.limits.consume({ name: 'search', key: user.id, window: '1m', limit: 2 });
    return { results: allowed ? 'fresh' : 'cached' };
  }
}
