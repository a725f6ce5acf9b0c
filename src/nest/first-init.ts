import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';

/** Runs tasks when everything is instantiated, before the first module is initialized. */
@Injectable()
export class FirstInit implements OnModuleInit {
  private readonly tasks: (() => Promise<void>)[] = [];

  run(task: () => Promise<void>): void {
    this.tasks.push(task);
  }

  /** All of them run, also if one fails: each cleans up after itself. */
  async onModuleInit(): Promise<void> {
    const ends = await Promise.allSettled(this.tasks.map((task) => task()));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }
}

/**
 * A separate module, because only the tasks must come first. `FreqLimitModule` itself may use a Redis client of the
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
