// An MCP server over stdio. The tool `draw` returns a text and a picture.
import { createInterface } from 'node:readline'

const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const size = { type: 'object', properties: { width: { type: 'integer' }, height: { type: 'integer' } } }
const inputSchema = { type: 'object', properties: { subject: { type: 'string' }, size } }

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') {
    const serverInfo = { name: 'pictures', version: '1.0.0' }
    send(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo })
  } else if (method === 'tools/list')
    send(id, { tools: [{ name: 'draw', description: 'Draws a picture.', inputSchema }] })
  else if (method === 'tools/call')
    send(id, {
      content: [
        { type: 'text', text: `Drawn: ${params.arguments.subject}.` },
        { type: 'image', data: picture, mimeType: 'image/png' },
      ],
    })
  else if (id !== undefined) send(id, {})
})

function send(id, result) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
}
