// An MCP server over stdio. The tool `form` asks the person what they order, and `link` for a
// visit. Both return the answer.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'

const server = new McpServer({ name: 'forms', version: '1.0.0' })

const requestedSchema = {
  type: 'object',
  properties: {
    color: { type: 'string', title: 'Color', enum: ['red', 'blue'] },
    count: { type: 'integer', title: 'Count', description: 'How many?' },
    wrapped: { type: 'boolean', title: 'Wrapped' },
  },
  required: ['color', 'count'],
}

const textOf = (answer) => ({ content: [{ type: 'text', text: JSON.stringify(answer) }] })

server.registerTool('form', { description: 'Asks for an order.' }, async (extra) =>
  textOf(await server.server.elicitInput({ message: 'What do you order?', requestedSchema }, { signal: extra.signal })),
)
server.registerTool('link', { description: 'Asks for a login.' }, async (extra) => {
  const asked = { mode: 'url', message: 'Log in first.', url: 'https://example.com/login', elicitationId: 'login-1' }
  return textOf(await server.server.elicitInput(asked, { signal: extra.signal }))
})

await server.connect(new StdioServerTransport())
