import { createServer } from 'node:http'
import { type Ask, type Reply, textOf, toolsOf } from '@reply/core'
import { toolFacts } from '@reply/core/show'
import { connectSource } from '@reply/core/source'
import { agUi, createAgUiProjection } from '../../src/index.ts'
import { type RecordedStream, recordedStreams } from '../recorded.ts'

/** What differs after the way through AG-UI, by the names of the streams. */
export interface Differences {
  replies: number
  asks: number
  readonly text: string[]
  readonly tools: string[]
  readonly children: string[]
  readonly outcome: string[]
  readonly askContents: string[]
}

/**
 * Sends recorded replies as AG-UI events over HTTP, reads them with `agUi`, answers what they ask, and compares the replies.
 */
export async function roundTrip(wanted: (stream: RecordedStream, index: number) => boolean): Promise<Differences> {
  /** The states that are left of the reply that is sent, and what it has asked. */
  let current: { readonly states: Reply[]; readonly asked: Ask[] } = { states: [], asked: [] }
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const { threadId, runId, messages, resume } = JSON.parse(body)
    const { states, asked } = current
    const isResumed = resume !== undefined
    // An answer is seen once its ask is no longer pending.
    while (isResumed && states[0]?.asks.some((ask) => ask.status === 'pending' && isIn(resume, ask))) states.shift()
    const projection = createAgUiProjection({
      threadId,
      runId,
      history: messages,
      ...(isResumed && { have: messages }),
    })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    while (!projection.ended) {
      const state = states.shift()
      if (!state) break
      for (const event of projection.next(state)) {
        if (event.type === 'RUN_FINISHED' && event.outcome.type === 'interrupt')
          for (const { id } of event.outcome.interrupts)
            asked.push(...state.asks.filter((ask) => id.startsWith(ask.requestID)))
        response.write(`data: ${JSON.stringify(event)}\n\n`)
      }
    }
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const errors: string[] = []
  let recorded: Reply | undefined
  const client = connectSource(
    agUi({ url: `http://127.0.0.1:${port}/`, onError: ({ message }) => errors.push(message) }),
  )
  client.on('questionAsked', async ({ ask }) => await answer(ask))
  client.on('permissionAsked', async ({ ask }) => await answer(ask))
  const found: Differences = { replies: 0, asks: 0, text: [], tools: [], children: [], outcome: [], askContents: [] }
  for (const { name, read } of recordedStreams.filter(wanted)) {
    for (const [index, all] of (await read()).entries()) {
      const states = all.slice(0, all.findIndex(({ phase }) => phase === 'settled') + 1)
      const last = states.at(-1)
      if (!last) continue
      const text = `${name} ${index}`
      const asked: Ask[] = []
      recorded = last
      current = { states: [...states], asked }
      const reply = await client.prompt({ text: last.prompt?.text || 'Go on.' }).result
      found.replies += 1
      found.asks += reply.asks.length
      const compare = (what: Exclude<keyof Differences, 'replies' | 'asks'>, ours: unknown, theirs: unknown): void => {
        if (JSON.stringify(ours) !== JSON.stringify(theirs))
          found[what].push(`${text}: ${JSON.stringify([theirs, ours])}`)
      }
      compare('text', textOf(reply), textOf(last))
      compare('tools', callsOf(reply), callsOf(last))
      compare('children', childrenOf(reply), childrenOf(last))
      compare('outcome', reply.outcome, outcomeOf(last))
      compare('askContents', reply.asks.map(contentOf), asked.map(contentOf))
    }
  }
  await client.close()
  server.closeAllConnections()
  server.close()
  if (errors.length > 0) throw new Error(errors.join('\n'))
  return found

  /** Answers as a person did in the recording. An ask that was withdrawn there gets any answer. */
  async function answer(ask: Ask): Promise<void> {
    const was = recorded?.asks.find(({ requestID }) => ask.requestID.includes(`:${requestID}~`))
    if (was?.status === 'rejected') return await client.reject(ask)
    if (ask.type === 'permission') return await client.answer(ask, 'once')
    const given = was?.type === 'question' && was.answers?.every(({ length }) => length > 0) ? was.answers : undefined
    await client.answer(ask, given ?? ask.questions.map(({ options }) => [options[0]?.label ?? 'Words']))
  }
}

const isIn = (resume: readonly { readonly interruptId: string }[], ask: Ask): boolean =>
  resume.some(({ interruptId }) => interruptId.startsWith(ask.requestID))

/** OpenCode 1 counts a call of an unknown tool as completed. */
const callsOf = (reply: Reply): unknown =>
  toolsOf(reply).map((part) => {
    const { status, input, output, error } = part.state
    const isFailed = toolFacts(part, reply).end?.type === 'failed'
    return [part.tool, isFailed ? 'error' : status, input, output ?? error]
  })

const childrenOf = (reply: Reply): unknown =>
  // A sub-agent in the background goes on after the run. AG-UI has no place for that, so it ends there.
  reply.children.map((child) => [
    textOf(child.reply),
    callsOf(child.reply),
    outcomeOf(child.reply) ?? 'completed',
    childrenOf(child.reply),
  ])

/** AG-UI has no outcome for a run that stopped after its tools, and none for a run that took too long. */
function outcomeOf({ outcome }: Reply): Reply['outcome'] {
  if (outcome === 'stopped') return 'completed'
  return outcome === 'timed-out' ? 'failed' : outcome
}

const contentOf = (ask: Ask): unknown => (ask.type === 'question' ? [ask.type, ask.questions] : [ask.type, ask.call])
