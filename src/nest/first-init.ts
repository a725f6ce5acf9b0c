import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';

/** Runs a task when everything is instantiated, before the first module is initialized. */
@Injectable()
export class FirstInit implements OnModuleInit {
  private task: (() => Promise<void>) | undefined;

  run(task: () => Promise<void>): void {
    this.task = task;
  }

  onModuleInit(): Promise<void> | undefined {
    return this.task?.();
  }
}

/**
 * A separate module, because only the task must come first. `FreqLimitModule` itself may use a Redis client of the
 * application, and the module of that client must be initialized before it.
 */
@Module({ providers: [FirstInit], exports: [FirstInit] })
export class FirstInitModule {
  constructor(@Inject(ModulesContainer) modules: ModulesContainer) {
    // Nest initializes the module with the greatest distance from the root first; a global one has Number.MAX_VALUE
    for (const module of modules.values()) {
      if (module.metatype === FirstInitModule) module.distance = Infinity;
    }
  }
}
