// An MCP server with one tool, `ask`, which asks the person for a color with a form.
import { createInterface } from 'node:readline'

const form = {
  message: 'Which color?',
  requestedSchema: {
    type: 'object',
    properties: { color: { type: 'string', title: 'Color', enum: ['Red', 'Blue'] } },
    required: ['color'],
  },
}
let hasForms = false
let call

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result, error } = JSON.parse(line)
  if (method === 'initialize') {
    hasForms = params.capabilities?.elicitation !== undefined
    const { protocolVersion } = params
    send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'forms', version: '1' } } })
  } else if (method === 'tools/list') {
    const inputSchema = { type: 'object', properties: {} }
    send({ id, result: { tools: [{ name: 'ask', description: 'Asks which color.', inputSchema }] } })
  } else if (method === 'tools/call') {
    if (!hasForms) return answer(id, 'The client declares no elicitation.')
    call = id
    send({ id: 'form', method: 'elicitation/create', params: form })
  } else if (id === 'form')
    answer(call, error ? `refused: ${error.message}` : `${result.action}: ${result.content?.color}`)
  else if (id !== undefined) send({ id, result: {} })
})

function answer(id, text) {
  send({ id, result: { content: [{ type: 'text', text }] } })
}

function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}
