// An MCP server over stdio. The tool `draw` returns a text and a picture. `print` asks the person for approval of the page
// that it prints, as servers do whose tools act on a person's computer, and returns the answer.
import { createInterface } from 'node:readline'

const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const size = { type: 'object', properties: { width: { type: 'integer' }, height: { type: 'integer' } } }
const inputSchema = { type: 'object', properties: { subject: { type: 'string' }, size } }

const approval = {
  message: 'Print it?',
  requestedSchema: { type: 'object', properties: {} },
  _meta: {
    codex_request_type: 'approval_request',
    codex_approval_kind: 'mcp_tool_call',
    tool_name: 'page',
    tool_params: { paper: 'A4', copies: 2 },
  },
}
let printing

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result, error } = JSON.parse(line)
  if (method === 'initialize') {
    const serverInfo = { name: 'pictures', version: '1.0.0' }
    send(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo })
  } else if (method === 'tools/list')
    send(id, {
      tools: [
        { name: 'draw', description: 'Draws a picture.', inputSchema },
        { name: 'print', description: 'Prints it.', inputSchema: { type: 'object', properties: {} } },
      ],
    })
  else if (id === 'approval') send(printing, { content: [{ type: 'text', text: JSON.stringify(result ?? error) }] })
  else if (method === 'tools/call' && params.name === 'print') {
    printing = id
    write({ id: 'approval', method: 'elicitation/create', params: approval })
  } else if (method === 'tools/call')
    send(id, {
      content: [
        { type: 'text', text: `Drawn: ${params.arguments.subject}.` },
        { type: 'image', data: picture, mimeType: 'image/png' },
      ],
    })
  else if (id !== undefined) send(id, {})
})

function send(id, result) {
  write({ id, result })
}

function write(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}
