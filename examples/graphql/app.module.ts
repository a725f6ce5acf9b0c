import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Module } from '@nestjs/common';
import { GraphQLModule } from '@nestjs/graphql';
import { FreqLimitModule } from 'nestjs-freq-limit';
import { MessagesResolver } from './messages.resolver.js';

@Module({
  imports: [
    GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      subscriptions: { 'graphql-ws': true },
      fieldResolverEnhancers: ['guards'],
    }),
    FreqLimitModule.forRoot({ rules: [{ window: '1s', limit: 10, key: '{ip}', name: 'burst' }] }),
  ],
  providers: [MessagesResolver],
})
export class AppModule {}
