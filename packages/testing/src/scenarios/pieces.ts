import { type AnswerPiece, callTool, scenarioToken } from '../script.ts'

/** A call that runs a command. */
export const bash = (command: string): AnswerPiece => callTool('bash', { command, description: `Run ${command}` })

/** A call that starts a sub-agent, which plays the script. `more` is added to its input. */
export const task = (description: string, script: string, more: object = {}): AnswerPiece =>
  callTool('task', { description, prompt: `Do your part. ${scenarioToken(script)}`, subagent_type: 'general', ...more })

/** Commands ask for a permission. */
export const asking = { permission: { bash: 'ask' } } as const

/** A question with two options. */
export const colour = {
  question: 'Which colour?',
  header: 'Colour',
  options: [
    { label: 'Red', description: 'Warm' },
    { label: 'Blue', description: 'Cold' },
  ],
}

/** A PNG of one pixel, in base64. */
export const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A GIF of one pixel, in base64. */
const gif = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

/** An MCP server whose tool `draw` returns a block of each kind. */
export const pictureServer = `import { createInterface } from 'node:readline'

const content = [
  { type: 'text', text: 'Drawn.' },
  { type: 'image', mimeType: 'image/png', data: '${picture}' },
  { type: 'resource', resource: { uri: 'file:///dots/notes.txt', mimeType: 'text/plain', text: 'One dot.' } },
  { type: 'resource', resource: { uri: 'file:///dots/dot.gif', mimeType: 'image/gif', blob: '${gif}' } },
  { type: 'resource_link', uri: 'file:///dots/all.zip', name: 'all.zip', mimeType: 'application/zip' },
]
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'dots', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: [{ name: 'draw', description: 'Draws', inputSchema: { type: 'object', properties: {} } }] }),
  'tools/call': () => ({ content }),
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  const result = results[method]?.(params)
  const answer = result ? { result } : { error: { code: -32601, message: 'Unknown method' } }
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
}
`
