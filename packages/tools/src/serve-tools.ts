import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type OnError, ReplyError } from '@reply/core'
import { modelSchemaOf, safeOnError } from '@reply/core/internal'
import type { Tool, Tools } from '@reply/core/thoughts'

/** The options of `serveTools`. */
export interface ServeToolsOptions {
  /** The port on 127.0.0.1. Default: any free one. */
  readonly port?: number | undefined
  /** Receives errors of tools and failed requests. Default: ignored. */
  readonly onError?: OnError | undefined
}

/** Tools behind an MCP server on loopback, over Streamable HTTP. */
export interface ToolServer {
  /** The endpoint: `http://127.0.0.1:…/mcp`. */
  readonly url: string
  /** The headers that clients must send. They contain a secret, new for each server: keep them out of logs. */
  readonly headers: Readonly<Record<string, string>>
  /** Stops listening and ends open calls: the signals of their handlers abort. Never rejects. */
  close(): Promise<void>
}

/**
 * Serves tools on 127.0.0.1. A request needs the secret and the right `Host`. Requests with an `Origin` are refused, so
 * web pages can't use the tools. Rejects with `invalid` for a name or a schema that can't be served, and with
 * `unreachable` if the port can't be opened.
 */
export async function serveTools(tools: Tools, options: ServeToolsOptions = {}): Promise<ToolServer> {
  const onError = safeOnError(options.onError)
  const bound = bindTools(tools, onError)
  const secret = randomBytes(32).toString('base64url')
  const headers = { authorization: `Bearer ${secret}` }
  const server = createServer((request, response) => {
    const refusal = refusalOf(request)
    if (refusal !== undefined) return sendRefusal(response, refusal)
    answerClient(bound, request, response).catch((error: unknown) => {
      onError(new ReplyError('malformed', `A request to the tools failed: ${String(error)}`, { cause: error }))
      response.destroy()
    })
  })
  const port = await listen()
  return { url: `http://127.0.0.1:${port}/mcp`, headers, close: closeWithConnections }

  /** Returns the HTTP status for a request that is refused: 401, 403, 404 or 405. Undefined if it is allowed. */
  function refusalOf({ method, url, headers: sent }: IncomingMessage): number | undefined {
    if (sent.host !== `127.0.0.1:${port}` || sent.origin !== undefined) return 403
    if (!isEqual(sent.authorization ?? '', headers.authorization)) return 401
    if (url !== '/mcp') return 404
    // No sessions and no server-initiated messages, so there is no GET or DELETE.
    return method === 'POST' ? undefined : 405
  }

  /** Resolves with the port. Rejects with `unreachable` if it can't be opened. */
  async function listen(): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) => {
        reject(
          new ReplyError(
            'unreachable',
            `The tools can't be served: ${cause.message}. Free the port, or choose another.`,
            { cause },
          ),
        )
      })
      server.listen(options.port ?? 0, '127.0.0.1', resolve)
    })
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  /** Breaks all connections, and resolves when they are closed. */
  async function closeWithConnections(): Promise<void> {
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}

/** Answers with this status and an error that doesn't say why. */
function sendRefusal(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: 'Refused.' } }))
}

/** Whether two texts are equal. Takes the same time for all texts of the same length. */
function isEqual(sent: string, expected: string): boolean {
  const one = Buffer.from(sent)
  const other = Buffer.from(expected)
  return one.length === other.length && timingSafeEqual(one, other)
}

/**
 * Answers one request of a client. Stateless: all clients get the same tools. Aborts the signal of a call if the client
 * disconnects. Rejects if the request can't be answered.
 */
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

/**
 * Returns a server for one request: `tools/list` or `tools/call`. A call of an unknown tool is an error for the model.
 */
function createMcpServer(tools: ReadonlyMap<string, BoundTool>): Server {
  const server = new Server({ name: 'reply', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [...tools].map(([name, { description, schema }]) => ({ name, description, inputSchema: schema })),
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = tools.get(params.name)
    const { text, isError } = tool
      ? await tool.call(params.arguments ?? {}, signal)
      : { text: `There is no tool named ${params.name}.`, isError: true }
    return { content: [{ type: 'text', text }], isError }
  })
  return server
}

/** A tool as a client sees it. */
interface BoundTool {
  readonly description: string
  /** The JSON Schema of the input, always an object. */
  readonly schema: { readonly type: 'object'; readonly [field: string]: unknown }
  /**
   * Resolves with the handler's result as text, or as JSON. Never rejects: what the handler or the schema throws is
   * text for the model, and goes to `onError`. An input that doesn't fit the schema is only text for the model.
   */
  readonly call: (input: unknown, signal: AbortSignal) => Promise<{ readonly text: string; readonly isError: boolean }>
}

/** The function names that model providers accept. */
const namePattern = /^[\w-]{1,64}$/

/** Validates the tools and wraps their handlers. Throws `invalid` for a name or a schema that can't be served. */
function bindTools(tools: Tools, onError: OnError): ReadonlyMap<string, BoundTool> {
  return new Map(Object.entries(tools).map(([name, tool]) => [name, bindTool(name, tool, onError)]))
}

/**
 * Returns the tool as clients see it. Its `call` resolves with an error for the model if the input doesn't fit or the
 * handler throws, which `onError` also gets. Throws `invalid` for a name or a schema that can't be served.
 */
function bindTool(name: string, tool: Tool, onError: OnError): BoundTool {
  if (!namePattern.test(name)) {
    const shown = JSON.stringify(name.slice(0, 100))
    throw new ReplyError('invalid', `${shown} is not a valid tool name. Use up to 64 letters, digits, "_" and "-".`)
  }
  const { schema, check } = modelSchemaOf(tool.schema)
  return {
    description: tool.description,
    schema: { ...schema, type: 'object' },
    call: async (input, signal) => {
      try {
        const checked = await check(input)
        if (!('value' in checked))
          return { text: `The input does not fit the schema:\n${checked.problem}`, isError: true }
        const result = await tool.handler(checked.value, { signal })
        return { text: typeof result === 'string' ? result : (JSON.stringify(result) ?? ''), isError: false }
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        onError(new ReplyError('observer', `The tool ${name} failed: ${message}`, { cause: error }))
        return { text: message, isError: true }
      }
    },
  }
}
