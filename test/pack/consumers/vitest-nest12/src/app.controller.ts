import { Controller, Get } from '@nestjs/common';
import { FreqLimit, FreqLimitService } from 'nestjs-freq-limit';
import { AppService } from './app.service.js';

@Controller()
export class AppController {
  // injected by the types that the compiler writes down
  constructor(
    private readonly appService: AppService,
    private readonly limits: FreqLimitService,
  ) {}

  @Get()
  @FreqLimit('1m', 3, '{ip}')
  getHello(): string {
    return this.appService.getHello();
  }

  @Get('export')
  async export(): Promise<boolean> {
    const { allowed } = await this.limits.consume({ name: 'export', key: 'all', window: '1h', limit: 1 });
    return allowed;
  }
}
