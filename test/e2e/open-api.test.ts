import { Controller, Get, HttpCode, Post, type Type } from '@nestjs/common';
import {
  ApiOkResponse,
  ApiProperty,
  ApiResponse,
  ApiTooManyRequestsResponse,
  DocumentBuilder,
  type OpenAPIObject,
  SwaggerModule,
} from '@nestjs/swagger';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  FreqLimit,
  FreqLimitCharge,
  type FreqLimitCharges,
  type FreqLimitOptions,
  SkipFreqLimit,
} from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp } from '../support/app.js';

afterEach(closeApps);

class Cat {
  @ApiProperty()
  readonly name: string = '';
}

const minute = { window: '1m', limit: 3 } as const;

@Controller('cats')
@FreqLimit({ ...minute, name: 'class' })
class Cats {
  @Get('plain')
  plain() {
    return 'ok';
  }
  @Post('made')
  @HttpCode(202)
  @FreqLimit({ ...minute, statusCode: 503, name: 'busy' })
  made() {
    return 'ok';
  }
  @Get('typed')
  @ApiOkResponse({ type: Cat, isArray: true })
  typed() {
    return [];
  }
  @Get('own')
  @ApiTooManyRequestsResponse({ description: 'in words of my own' })
  own() {
    return 'ok';
  }
  @Get('skipped')
  @SkipFreqLimit()
  skipped() {
    return 'ok';
  }
}

@Controller('dogs')
@ApiResponse({ status: 429, description: 'no more dogs' })
class Dogs {
  @Get()
  @FreqLimit({ ...minute, name: 'dogs' })
  @FreqLimit({ ...minute, statusCode: 420, name: 'calm' })
  list() {
    return 'ok';
  }
}

@Controller('shadows')
class Shadows {
  @Get()
  @FreqLimit({ ...minute, shadow: true, name: 'shadow' })
  list() {
    return 'ok';
  }
  @Post()
  none() {
    return 'ok';
  }
}

/** The document of an application that has not been started. */
async function documentOf(
  controllers: Type[],
  limits: FreqLimitOptions = {},
  platform: 'express' | 'fastify' = 'express',
): Promise<OpenAPIObject> {
  let document!: OpenAPIObject;
  await startApp(platform, { controllers, limits }, undefined, (app) => {
    document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
  });
  return document;
}

function responsesOf(document: OpenAPIObject, path: string, method: 'get' | 'post' = 'get') {
  return document.paths[path]![method]!.responses as unknown as Record<string, Record<string, unknown>>;
}

const text = { type: 'string' };
const seconds = { type: 'integer', minimum: 1, description: 'Seconds to wait before the next request' };

describe.each(PLATFORMS)('an OpenAPI document on %s', (platform) => {
  it('describes the headers and the body of a denial', async () => {
    const responses = responsesOf(await documentOf([Cats], {}, platform), '/cats/plain');
    expect(responses).toEqual({
      200: { description: '' },
      429: {
        description: 'Too many requests',
        headers: {
          'RateLimit-Policy': { description: 'The quota and the window of each limit', schema: text },
          RateLimit: {
            description: 'The remaining quota of each limit, and the seconds until it resets',
            schema: text,
          },
          'Retry-After': {
            description: 'Seconds to wait before the next request',
            schema: { type: 'integer', minimum: 1 },
          },
        },
        content: {
          'application/json': {
            schema: {
              type: 'object',
              required: ['statusCode', 'error', 'message', 'retryAfter'],
              properties: {
                statusCode: { type: 'integer', example: 429 },
                error: text,
                message: text,
                retryAfter: seconds,
              },
            },
          },
        },
      },
    });
  });
});

describe('an OpenAPI document', () => {
  it('of a handler that settles its charges is the same as without them', async () => {
    @Controller('chat')
    class Chat {
      @Get('plain')
      @FreqLimit({ ...minute, name: 'tokens' })
      plain() {
        return 'ok';
      }
      @Get('charged')
      @FreqLimit({ ...minute, name: 'tokens', cost: 2, actualCost: () => 1, maxShare: 1 })
      charged(
        @FreqLimitCharge('tokens') charge: FreqLimitCharge,
        @FreqLimitCharge() charges: FreqLimitCharges,
      ) {
        return [charge, charges].length;
      }
    }
    const { paths, components } = await documentOf([Chat]);
    const [plain, charged] = ['plain', 'charged'].map((path) => paths[`/chat/${path}`]?.get);
    expect({ ...charged, operationId: '' }).toEqual({ ...plain, operationId: '' });
    expect(components?.schemas).toEqual({});
  });

  it('keeps the documentation of the handler, and its default success response', async () => {
    const document = await documentOf([Cats]);
    expect(Object.keys(responsesOf(document, '/cats/made', 'post'))).toEqual(['202', '429', '503']);
    const { 200: ok, 429: denial } = responsesOf(document, '/cats/typed');
    expect(ok).toEqual({
      description: '',
      content: {
        'application/json': { schema: { type: 'array', items: { $ref: '#/components/schemas/Cat' } } },
      },
    });
    expect(denial).toHaveProperty('headers');
  });

  it('keeps the documentation of 429 that a handler or a class has', async () => {
    const document = await documentOf([Cats, Dogs]);
    expect(responsesOf(document, '/cats/own')).toEqual({ 429: { description: 'in words of my own' } });
    const dogs = responsesOf(document, '/dogs');
    expect(Object.keys(dogs)).toEqual(['200', '420', '429']);
    expect(dogs['429']).toEqual({ description: 'no more dogs' });
  });

  it('has no 429 for handlers that are never denied', async () => {
    const document = await documentOf([Cats, Shadows]);
    expect(responsesOf(document, '/cats/skipped')).toEqual({ 200: { description: '' } });
    expect(responsesOf(document, '/shadows')).toEqual({ 200: { description: '' } });
    expect(responsesOf(document, '/shadows', 'post')).toEqual({ 201: { description: '' } });
  });

  it('has a 429 on every route for rules of the module', async () => {
    const document = await documentOf([Shadows], { rules: [{ ...minute, name: 'module' }] });
    expect(Object.keys(responsesOf(document, '/shadows'))).toEqual(['200', '429']);
    expect(Object.keys(responsesOf(document, '/shadows', 'post'))).toEqual(['201', '429']);
  });

  it.each([
    ['legacy', ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After']],
    ['retry-after', ['Retry-After']],
  ] as const)('names the headers that are sent with headers: %j', async (headers, names) => {
    const { 429: denial } = responsesOf(await documentOf([Cats], { headers }), '/cats/plain');
    expect(Object.keys(denial!['headers'] as object)).toEqual(names);
  });

  it('has no headers if none are sent, and no body if the exceptionFactory makes it', async () => {
    const limits = { headers: 'none', exceptionFactory: () => new Error('mine') } as const;
    const { 429: denial } = responsesOf(await documentOf([Cats], limits), '/cats/plain');
    expect(denial).toEqual({ description: 'Too many requests' });
  });

  it('describes problem details', async () => {
    const document = await documentOf([Cats], { errorFormat: 'problem' });
    expect(responsesOf(document, '/cats/made', 'post')['503']!['content']).toEqual({
      'application/problem+json': {
        schema: {
          type: 'object',
          required: ['type', 'title', 'status', 'detail', 'violated-policies', 'retryAfter'],
          properties: {
            type: { type: 'string', format: 'uri' },
            title: text,
            status: { type: 'integer', example: 503 },
            detail: text,
            'violated-policies': { type: 'array', items: text },
            retryAfter: seconds,
          },
        },
      },
    });
  });

  it('describes its own application, also if another has the same controllers', async () => {
    await documentOf([Shadows, Cats], { errorFormat: 'problem', rules: [{ ...minute, statusCode: 503 }] });
    const document = await documentOf([Shadows, Cats], { rules: [{ ...minute, name: 'module' }] });
    expect(Object.keys(responsesOf(document, '/shadows'))).toEqual(['200', '429']);
    const { 429: denial, ...others } = responsesOf(document, '/cats/plain');
    expect(Object.keys(denial!['content'] as object)).toEqual(['application/json']);
    expect(others).toEqual({ 200: { description: '' } });
  });

  it('describes an inherited handler by the rules of all of its classes', async () => {
    class Base {
      @Get('inherited')
      inherited() {
        return 'ok';
      }
    }
    @Controller('first')
    @FreqLimit(minute)
    class First extends Base {}
    @Controller('second')
    @FreqLimit({ ...minute, statusCode: 503 })
    class Second extends Base {}
    const document = await documentOf([First, Second]);
    expect(Object.keys(responsesOf(document, '/second/inherited'))).toEqual(['200', '429', '503']);
  });

  it("keeps the metadata of swagger's compiler plugin, also if it is loaded later", async () => {
    @Controller('found')
    @FreqLimit(minute)
    class FoundOut {
      @Get('list')
      list() {
        return [];
      }
      @Post('one')
      one() {
        return {};
      }
      @Get('unknown')
      unknown() {
        return {};
      }
    }
    let document!: OpenAPIObject;
    await startApp('express', { controllers: [FoundOut] }, undefined, (app) => {
      // like SwaggerModule.loadPluginMetadata
      const found = { list: { type: [Cat] }, one: { type: Cat }, unknown: { summary: 'only a summary' } };
      Object.assign(FoundOut, { _OPENAPI_METADATA_FACTORY: () => found });
      document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    });
    const cat = { $ref: '#/components/schemas/Cat' };
    const schemaOf = (response: unknown): unknown =>
      (response as { content: Record<string, { schema: unknown }> }).content['application/json']!.schema;
    expect(schemaOf(responsesOf(document, '/found/list')['200'])).toEqual({ type: 'array', items: cat });
    expect(schemaOf(responsesOf(document, '/found/one', 'post')['201'])).toEqual(cat);
    expect(responsesOf(document, '/found/unknown')['200']).toEqual({ description: '' });
    expect(Object.keys(responsesOf(document, '/found/list'))).toEqual(['200', '429']);
  });
});

it('@nestjs/swagger is not loaded by this package', () => {
  const root = join(import.meta.dirname, '../../src');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const loading = files.filter((file) =>
    /(from|import\(|require\() *'@nestjs\/swagger/.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(files.length).toBeGreaterThan(50);
  expect(loading).toEqual([]);
});
