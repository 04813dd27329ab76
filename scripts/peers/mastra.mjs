// A Mastra agent behind AG-UI, for tests: its model is a scripted one at MODEL_URL. Prints its address. Needs Node 22.
import { createServer } from 'node:http'
import { MastraAgent } from '@ag-ui/mastra'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { InMemoryStore } from '@mastra/core/storage'
import { createTool } from '@mastra/core/tools'
import * as z from 'zod'

const list = createTool({
  id: 'list',
  description: 'Lists a folder',
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => ({ files: [`${path}/a.txt`] }),
})

// Mastra's own approvals don't reach AG-UI. A tool that suspends does.
const remove = createTool({
  id: 'remove',
  description: 'Removes a file',
  inputSchema: z.object({ path: z.string() }),
  suspendSchema: z.object({ warning: z.string() }),
  resumeSchema: z.object({ approved: z.boolean(), reason: z.string().optional() }),
  execute: async ({ path }, { agent }) => {
    const { resumeData, suspend } = agent
    if (!resumeData) return await suspend({ warning: `${path} can't be restored.` })
    return resumeData.approved ? { removed: path } : { kept: path, because: resumeData.reason }
  },
})

const agent = new Agent({
  id: 'files',
  name: 'files',
  instructions: 'You work with files.',
  model: { providerId: 'scripted', modelId: 'm1', url: process.env.MODEL_URL, apiKey: 'none' },
  tools: { list, remove },
})
const mastra = new Mastra({ agents: { files: agent }, storage: new InMemoryStore(), logger: false })

const server = createServer(async (request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end()
  let body = ''
  for await (const chunk of request) body += chunk
  const input = JSON.parse(body)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (event) => response.write(`data: ${JSON.stringify(event)}\n\n`)
  new MastraAgent({ agent: mastra.getAgent('files'), resourceId: 'test' }).run(input).subscribe({
    next: send,
    error: (error) => {
      send({ type: 'RUN_ERROR', message: String(error?.message ?? error) })
      response.end()
    },
    complete: () => response.end(),
  })
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`))
