import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type OnError, ReplyError } from '@reply/core'
import { safeOnError } from '@reply/core/internal'
import type { Tools } from '@reply/core/thoughts'
import { type BoundTool, bindTools } from './bind.ts'

/** How tools are served. */
export interface ServeOptions {
  /** The port on 127.0.0.1. Default: any free one. */
  readonly port?: number | undefined
  /** Receives what tools throw, and failures of requests. */
  readonly onError?: OnError | undefined
}

/** Tools behind an MCP server on loopback, over Streamable HTTP. */
export interface ToolServer {
  /** The endpoint: `http://127.0.0.1:…/mcp`. */
  readonly url: string
  /** What clients must send: a secret, made anew for each server. Keep it out of logs. */
  readonly headers: Readonly<Record<string, string>>
  /** Breaks open calls, whose handlers' signals abort, and stops listening. Never rejects. */
  close(): Promise<void>
}

/**
 * Serves tools on 127.0.0.1. A request needs the secret, the address as its host, and no origin: web pages get nothing.
 * Throws `invalid` for a name or a schema that can't be served; rejects with `unreachable` if the port can't be opened.
 */
export async function serveTools(tools: Tools, options: ServeOptions = {}): Promise<ToolServer> {
  const onError = safeOnError(options.onError)
  const bound = bindTools(tools, onError)
  const secret = randomBytes(32).toString('base64url')
  const headers = { authorization: `Bearer ${secret}` }
  const server = createServer((request, response) => {
    const refusal = refusalOf(request)
    if (refusal !== undefined) return refuse(response, refusal)
    answerClient(bound, request, response).catch((error: unknown) => {
      onError(new ReplyError('malformed', `A request to the tools failed: ${String(error)}`, { cause: error }))
      response.destroy()
    })
  })
  const port = await listen()
  return { url: `http://127.0.0.1:${port}/mcp`, headers, close }

  /** The status of the answer to a request that may not pass. */
  function refusalOf({ method, url, headers: sent }: IncomingMessage): number | undefined {
    if (sent.host !== `127.0.0.1:${port}` || sent.origin !== undefined) return 403
    if (!isEqual(sent.authorization ?? '', headers.authorization)) return 401
    if (url !== '/mcp') return 404
    // There are no sessions, and nothing is sent unasked.
    return method === 'POST' ? undefined : 405
  }

  async function listen(): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) => {
        reject(new ReplyError('unreachable', `The tools can't be served: ${cause.message}. Free the port.`, { cause }))
      })
      server.listen(options.port ?? 0, '127.0.0.1', resolve)
    })
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  async function close(): Promise<void> {
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: 'Refused.' } }))
}

/** In the same time for each wrong text of the right length. */
function isEqual(given: string, expected: string): boolean {
  const one = Buffer.from(given)
  const other = Buffer.from(expected)
  return one.length === other.length && timingSafeEqual(one, other)
}

/** Answers one request of a client. Nothing is kept between requests: tools are the same for all. */
async function answerClient(
  tools: ReadonlyMap<string, BoundTool>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const server = createMcpServer(tools)
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  response.once('close', () => {
    void server.close()
  })
  await server.connect(transport as Transport)
  await transport.handleRequest(request, response)
}

function createMcpServer(tools: ReadonlyMap<string, BoundTool>): Server {
  const server = new Server({ name: 'reply', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [...tools].map(([name, { description, schema }]) => ({ name, description, inputSchema: schema })),
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = tools.get(params.name)
    const { text, isError } = tool
      ? await tool.call(params.arguments ?? {}, signal)
      : { text: `There is no tool ${params.name}.`, isError: true }
    return { content: [{ type: 'text', text }], isError }
  })
  return server
}
