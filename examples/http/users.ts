import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { FreqLimit, FreqLimitGuard, FreqLimitModule } from 'nestjs-freq-limit';

interface Request {
  readonly headers: { readonly authorization?: string };
  user?: { readonly id: string };
}

/** Authenticates the user: here, by the header alone. */
@Injectable()
export class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const id = request.headers.authorization;
    if (id === undefined) throw new UnauthorizedException();
    request.user = { id };
    return true;
  }
}

@Controller('mails')
export class MailsController {
  @Get()
  @FreqLimit({ window: '1m', limit: 2, key: '{user.id}', name: 'user' })
  list() {
    return [];
  }
}

@Module({ providers: [{ provide: APP_GUARD, useClass: AuthGuard }] })
export class AuthModule {}

/** AuthModule is imported first, so its guard runs first for all routes. */
@Module({
  imports: [AuthModule, FreqLimitModule.forRoot()],
  controllers: [MailsController],
})
export class UsersFirstModule {}

/** Only these routes have users. The limits are checked after AuthGuard. */
@Controller('files')
@UseGuards(AuthGuard, FreqLimitGuard)
export class FilesController {
  @Get()
  @FreqLimit({ window: '1m', limit: 2, key: '{user.id}', name: 'user' })
  list() {
    return [];
  }
}

@Module({
  imports: [FreqLimitModule.forRoot({ globalGuard: false })],
  controllers: [FilesController],
})
export class UsersOnRoutesModule {}
