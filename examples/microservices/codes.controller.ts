import { Controller, UseGuards } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { FreqLimit, FreqLimitGuard } from 'nestjs-freq-limit';

@Controller()
@UseGuards(FreqLimitGuard) // needed in a hybrid application without inheritAppConfig, harmless elsewhere
export class CodesController {
  @MessagePattern('codes.send')
  @FreqLimit('1m', 1, 'phone:{body.phone}')
  @FreqLimit({ window: '1d', limit: 10, key: 'phone:{body.phone}', name: 'daily' })
  send(@Payload() { phone }: { phone: string }) {
    return { sentTo: phone };
  }

  readonly spent = new Set<string>();

  @EventPattern('codes.used')
  @FreqLimit('1s', 100, 'all') // see "Events" in docs/microservices.md
  used(@Payload() { code }: { code: string }) {
    this.spent.add(code);
  }
}
