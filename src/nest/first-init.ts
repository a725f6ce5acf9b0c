import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';

/** Runs a task when everything is instantiated, and before any module is initialized. */
@Injectable()
export class FirstInit implements OnModuleInit {
  private task: (() => void) | undefined;

  run(task: () => void): void {
    this.task = task;
  }

  onModuleInit(): void {
    this.task?.();
  }
}

/**
 * A module of its own, because only this task comes first: `FreqLimitModule` may open a client of Redis, and the module
 * that the client is from must be initialized before it, where the application imports it before.
 */
@Module({ providers: [FirstInit], exports: [FirstInit] })
export class FirstInitModule {
  constructor(@Inject(ModulesContainer) modules: ModulesContainer) {
    // Nest initializes the module of the greatest distance from the root first; a global one has Number.MAX_VALUE
    for (const module of modules.values()) {
      if (module.metatype === FirstInitModule) module.distance = Infinity;
    }
  }
}
