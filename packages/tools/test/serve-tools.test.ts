import { request } from 'node:http'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { ReplyError } from '@reply/core'
import type { Tools } from '@reply/core/thoughts'
import { serveTools, type ToolServer } from '@reply/tools'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function serve(tools: Tools) {
  const errors: ReplyError[] = []
  const server = await serveTools(tools, { onError: (error) => errors.push(error) })
  closing.push(server.close)
  return { server, errors }
}

async function connectTo({ url, headers }: ToolServer): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }) as Transport)
  closing.push(() => client.close())
  return client
}

const add = {
  description: 'Adds two numbers.',
  schema: z.object({ a: z.number(), b: z.number().default(1) }),
  handler: ({ a, b }: { a: number; b: number }) => ({ sum: a + b }),
}

describe('a client', () => {
  test('sees each tool with its schema as models write it', async () => {
    const client = await connectTo((await serve({ add })).server)
    expect((await client.listTools()).tools).toEqual([
      {
        name: 'add',
        description: 'Adds two numbers.',
        inputSchema: {
          type: 'object',
          properties: { a: { type: 'number' }, b: { type: 'number', default: 1 } },
          required: ['a'],
        },
      },
    ])
  })

  test('calls a tool, whose handler gets the value that the schema makes', async () => {
    const client = await connectTo((await serve({ add })).server)
    const result = await client.callTool({ name: 'add', arguments: { a: 2 } })
    expect(result).toMatchObject({ content: [{ type: 'text', text: '{"sum":3}' }], isError: false })
  })

  test('is told why an input does not fit, and the handler is not called', async () => {
    const client = await connectTo((await serve({ add })).server)
    const result = await client.callTool({ name: 'add', arguments: { a: 'two' } })
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('expected number') }] })
  })

  test('is told what a handler throws, and so is onError', async () => {
    const failing = {
      description: 'Fails.',
      schema: z.object({}),
      handler: () => {
        throw new Error('no disk')
      },
    }
    const { server, errors } = await serve({ failing })
    const client = await connectTo(server)
    expect(await client.callTool({ name: 'failing' })).toMatchObject({ isError: true, content: [{ text: 'no disk' }] })
    expect(errors.map(({ message }) => message)).toEqual(['The tool failing failed: no disk'])
  })

  test('is told what the code of a schema throws, and so is onError', async () => {
    const schema = z.object({}).transform(() => {
      throw new Error('no such unit')
    })
    const { server, errors } = await serve({ failing: { description: 'Fails.', schema, handler: () => 'unreachable' } })
    const client = await connectTo(server)
    const result = await client.callTool({ name: 'failing' })
    expect(result).toMatchObject({ isError: true, content: [{ text: 'no such unit' }] })
    expect(errors.map(({ message }) => message)).toEqual(['The tool failing failed: no such unit'])
  })

  test('gives a value other than an object in the field of one', async () => {
    const lengths: number[] = []
    const list = {
      description: 'Takes a list.',
      schema: z.array(z.string()),
      handler: (items: string[]) => `${lengths.push(items.length)}`,
    }
    const client = await connectTo((await serve({ list })).server)
    expect((await client.listTools()).tools[0]?.inputSchema).toMatchObject({ required: ['value'] })
    await client.callTool({ name: 'list', arguments: { value: ['x', 'y'] } })
    expect(lengths).toEqual([2])
  })

  test('is told that a tool is unknown', async () => {
    const client = await connectTo((await serve({ add })).server)
    expect(await client.callTool({ name: 'subtract' })).toMatchObject({ isError: true })
  })

  test('that goes away aborts its call', async () => {
    let entered: () => void = () => {}
    const inside = new Promise<void>((resolve) => {
      entered = resolve
    })
    let aborted: () => void = () => {}
    const over = new Promise<void>((resolve) => {
      aborted = resolve
    })
    const wait = {
      description: 'Waits.',
      schema: z.object({}),
      handler: async (_: object, { signal }: { signal: AbortSignal }) => {
        signal.addEventListener('abort', aborted)
        entered()
        await over
      },
    }
    const { server } = await serve({ wait })
    const client = await connectTo(server)
    const call = client.callTool({ name: 'wait' }).catch(() => 'broken')
    await inside
    await server.close()
    await over
    expect(await call).toBe('broken')
  })
})

describe('a request', () => {
  const initialize = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  const good = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

  /** The status of the answer to a request with these headers; `fetch` would set the host itself. */
  async function statusOf(
    { url }: ToolServer,
    headers: Readonly<Record<string, string>>,
    method = 'POST',
    path = '/mcp',
  ) {
    const { port } = new URL(url)
    return await new Promise<number | undefined>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, method, headers: { ...good, ...headers } }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      sent.once('error', reject)
      sent.end(method === 'POST' ? JSON.stringify(initialize) : undefined)
    })
  }

  test('passes with the secret, and with nothing less', async () => {
    const { server } = await serve({ add })
    expect(await statusOf(server, server.headers)).toBe(200)
    expect(await statusOf(server, {})).toBe(401)
    expect(await statusOf(server, { authorization: `${server.headers.authorization}x` })).toBe(401)
    expect(await statusOf(server, { authorization: 'Bearer x' })).toBe(401)
  })

  test('of a web page is refused, also under another name of this machine', async () => {
    const { server } = await serve({ add })
    expect(await statusOf(server, { ...server.headers, origin: 'http://localhost:3000' })).toBe(403)
    expect(await statusOf(server, { ...server.headers, host: 'evil.example' })).toBe(403)
  })

  test('of another method or path finds nothing', async () => {
    const { server } = await serve({ add })
    expect(await statusOf(server, server.headers, 'GET')).toBe(405)
    expect(await statusOf(server, server.headers, 'DELETE')).toBe(405)
    expect(await statusOf(server, server.headers, 'POST', '/other')).toBe(404)
  })

  test('needs the secret of its own server', async () => {
    const { server } = await serve({ add })
    const { server: other } = await serve({ add })
    expect(await statusOf(server, other.headers)).toBe(401)
  })
})

describe('what cannot be served', () => {
  test.each([['two words'], ['über'], ['a'.repeat(65)], ['']])('is a tool of the name %j', async (name) => {
    await expect(serveTools({ [name]: add })).rejects.toMatchObject({ type: 'invalid' })
  })

  test('is a schema that JSON cannot hold', async () => {
    const odd = { ...add, schema: z.object({ when: z.date() }), handler: () => '' }
    await expect(serveTools({ odd })).rejects.toMatchObject({ type: 'invalid' })
  })

  test('is anything on a port that is taken', async () => {
    const { server } = await serve({ add })
    const port = Number(new URL(server.url).port)
    await expect(serveTools({ add }, { port })).rejects.toMatchObject({ type: 'unreachable' })
  })
})
