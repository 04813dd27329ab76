// An MCP server over stdio. The tool `draw` returns a text and a picture.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const server = new McpServer({ name: 'pictures', version: '1.0.0' })
const inputSchema = { subject: z.string(), size: z.object({ width: z.number(), height: z.number() }) }
const data =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

server.registerTool('draw', { description: 'Draws a picture.', inputSchema }, async ({ subject }) => ({
  content: [
    { type: 'text', text: `Drawn: ${subject}.` },
    { type: 'image', data, mimeType: 'image/png' },
  ],
}))

await server.connect(new StdioServerTransport())
