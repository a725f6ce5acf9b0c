import { Test } from '@nestjs/testing';
import { FreqLimitModule } from 'nestjs-freq-limit';
import { AppController } from './app.controller.js';
import { AppService } from './app.service.js';

describe('AppController', () => {
  it('works without its application', async () => {
    const app = await Test.createTestingModule({
      imports: [FreqLimitModule.forRoot()],
      controllers: [AppController],
      providers: [AppService],
    }).compile();
    const controller = app.get(AppController);
    expect([controller.getHello(), await controller.export(), await controller.export()]).toEqual([
      'Hello World!',
      true,
      false,
    ]);
  });
});
