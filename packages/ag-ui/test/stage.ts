import { once } from 'node:events'
import { createServer } from 'node:http'
import { HttpAgent } from '@ag-ui/client'
import type { Message, ResumeEntry } from '@ag-ui/core'
import type { Client } from '@reply/core'
import { connectSource, createLocalAgent, type LocalRun, type SourcePrompt } from '@reply/core/source'
import { onTestFinished } from 'vitest'
import { toListener } from '../../../examples/ui/node.ts'
import { type AgUiEvent, type AgUiHandler, type AgUiHandlerOptions, createAgUiHandler } from '../src/index.ts'

/** Serves a handler of web requests over HTTP. Resolves with its address. */
export async function serve(handle: (request: Request) => Promise<Response>): Promise<string> {
  const server = createServer(toListener(handle))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('The server has no port.')
  return `http://127.0.0.1:${address.port}/agent`
}

/**
 * A handler before an agent that does what its prompts say. The thread `mine` has the session `ses_1`, and `new` gets one with its
 * first prompt. Other threads are foreign.
 */
export function createStage(options: Partial<AgUiHandlerOptions> = {}) {
  const heard: SourcePrompt[] = []
  const answers: string[] = []
  const runs: LocalRun[] = []
  const errors: unknown[] = []
  let sessions = 1
  let asks = 0
  const agent = createLocalAgent({
    name: 'a scripted agent',
    create: () => ({ sessionID: `ses_${++sessions}`, directory: '/project' }),
    prompt: async (run, prompt) => {
      heard.push(prompt)
      runs.push(run)
      act(run, prompt.text ?? '')
    },
    cancel: (run) => run.end({ type: 'aborted' }),
  })
  agent.update({ sessionID: 'ses_1', directory: '/project' })
  const client: Client = connectSource(agent.source, { onError: (error) => errors.push(error) })
  const created = new Map<string, string>()
  const handle: AgUiHandler = createAgUiHandler(client, {
    sessionOf: (_, threadId) => {
      if (threadId === 'mine') return { sessionID: 'ses_1' }
      if (threadId !== 'new') return undefined
      return { sessionID: created.get(threadId), onCreated: (sessionID) => created.set(threadId, sessionID) }
    },
    mayAnswer: () => true,
    onError: (error) => errors.push(error),
    ...options,
  })
  onTestFinished(() => client.close())
  return { client, handle, heard, answers, runs, errors, created, permit, question, run: () => runs.at(-1) ?? never() }

  function act(run: LocalRun, text: string): void {
    if (text === 'endless') return run.write({ type: 'text', delta: 'On and on.', partID: 'endless' })
    if (text === 'fail')
      return run.end({ type: 'failed', error: { name: 'APIError', message: 'Overloaded', raw: undefined } })
    if (text === 'ask') return question(run)
    if (text.startsWith('run ')) {
      const commands = text.slice(4).split(' & ')
      let left = commands.length
      for (const command of commands) permit(run, command, () => --left === 0 && say(run, 'Done.'))
      return
    }
    say(run, `You said: ${text}`)
  }

  function say(run: LocalRun, text: string): void {
    run.write({ type: 'text', delta: text })
    run.end({ type: 'completed' })
  }

  /** Asks whether the agent may run the command, and goes on once that is answered. */
  function permit(run: LocalRun, command: string, then: () => unknown): void {
    const number = ++asks
    const callID = `call_${number}`
    const write = (status: 'running' | 'completed' | 'error', more: { error?: string; output?: string } = {}): void =>
      run.write({ type: 'tool', callID, tool: 'bash', state: { status, input: { command }, ...more } })
    write('running')
    run.ask({
      type: 'permission',
      requestID: `per_${number}`,
      callID,
      permission: 'bash',
      patterns: [command],
      always: [command],
      title: command,
      metadata: {},
      reply: (answer) => {
        answers.push(
          `${command}: ${answer.type === 'rejected' ? `rejected ${answer.message ?? ''}`.trim() : answer.type}`,
        )
        if (answer.type === 'canceled') return
        if (answer.type === 'rejected') write('error', { error: answer.message ?? 'Rejected.' })
        else write('completed', { output: `ran ${command}` })
        setImmediate(then)
      },
    })
  }

  function question(run: LocalRun): void {
    const number = ++asks
    const options = ['Red', 'Blue'].map((label) => ({ label, description: '' }))
    const questions = [
      { header: 'Color', question: 'Which color?', options, multiple: false, custom: false },
      { header: 'Sizes', question: 'Which sizes?', options: [], multiple: true, custom: true },
    ]
    run.write({
      type: 'tool',
      callID: `call_${number}`,
      tool: 'question',
      state: { status: 'running', input: { questions } },
    })
    run.ask({
      type: 'question',
      requestID: `que_${number}`,
      callID: `call_${number}`,
      questions,
      reply: (answer) => {
        answers.push(answer.type === 'answered' ? JSON.stringify(answer.answers) : answer.type)
        run.write({
          type: 'tool',
          callID: `call_${number}`,
          tool: 'question',
          state: { status: 'completed', input: { questions }, output: 'answered' },
        })
        if (answer.type !== 'canceled') setImmediate(() => say(run, 'Thanks.'))
      },
    })
  }
}

function never(): never {
  throw new Error('Nothing has run.')
}

/** The peer's client for a thread, which says what it sent and got. */
export function peer(url: string, threadId = 'mine', initialMessages: Message[] = []) {
  const agent = new HttpAgent({ url, threadId, initialMessages })
  const events: AgUiEvent[] = []
  agent.subscribe({ onEvent: ({ event }) => void events.push(JSON.parse(JSON.stringify(event))) })
  let messages = 0
  const run = async (answers: Readonly<Record<string, unknown>> = {}): Promise<readonly AgUiEvent[]> => {
    const from = events.length
    const resume = agent.pendingInterrupts.flatMap(({ id, message = '' }): ResumeEntry[] => {
      const key = Object.keys(answers).find((each) => message.includes(each))
      if (key === undefined) return []
      const payload = answers[key]
      return payload === 'cancel'
        ? [{ interruptId: id, status: 'cancelled' }]
        : [{ interruptId: id, status: 'resolved', payload }]
    })
    await agent.runAgent({ ...(resume.length > 0 && { resume }) })
    return events.slice(from)
  }
  return {
    agent,
    events,
    run,
    /** Sends a message, and resolves with the events of its run. */
    say: async (content: string) => {
      agent.addMessage({ id: `${threadId}-${++messages}-${content}`, role: 'user', content })
      return await run()
    },
    /** The texts of the agent, in order. */
    texts: () =>
      agent.messages.flatMap(({ role, content }) =>
        role === 'assistant' && typeof content === 'string' ? [content] : [],
      ),
    /** The results of calls, in order. */
    results: () => agent.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])),
  }
}

/** How a run ended: the type of its outcome, or the code of its error. */
export function endOf(events: readonly AgUiEvent[]): string | undefined {
  const last = events.at(-1)
  if (last?.type === 'RUN_ERROR') return last.code
  return last?.type === 'RUN_FINISHED' ? last.outcome.type : undefined
}
