import type { IncomingMessage, ServerResponse } from 'node:http'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { BoundTool } from './bind.ts'

/** Answers one request of a client. Nothing is kept between requests: tools are the same for all. */
export async function answerClient(
  tools: ReadonlyMap<string, BoundTool>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const server = createServer(tools)
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  response.once('close', () => {
    void server.close()
  })
  await server.connect(transport as Transport)
  await transport.handleRequest(request, response)
}

function createServer(tools: ReadonlyMap<string, BoundTool>): Server {
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
