import { HttpAgent } from '@ag-ui/client'
import type { Message, ResumeEntry } from '@ag-ui/core'
import type { Client } from '@reply/core'
import { connectSource, type LocalRun } from '@reply/core/source'
import { onTestFinished } from 'vitest'
import { createScriptedAgent } from '../../reply/test/web/scripted-agent.ts'
import { serve } from '../../reply/test/web/serve.ts'
import { type AgUiEvent, type AgUiHandler, type AgUiHandlerOptions, createAgUiHandler } from '../src/index.ts'

/** Serves a handler until the end of the test. Resolves with its address. */
export async function serveAgent(handle: (request: Request) => Promise<Response>): Promise<string> {
  const { url, close } = await serve(handle)
  onTestFinished(close)
  return `${url}/agent`
}

/**
 * A handler before an agent that does what its prompts say. The thread `mine` has the session `ses_1`, and `new` gets one with its
 * first prompt. Other threads are foreign.
 */
export function createStage(options: Partial<AgUiHandlerOptions> = {}) {
  const { agent, heard, answers, runs, run, say, permit, question } = createScriptedAgent(act)
  const errors: unknown[] = []
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
  return { client, handle, heard, answers, runs, errors, created, run }

  function act(run: LocalRun, text: string): void {
    if (text === 'endless') return run.write({ type: 'text', delta: 'On and on.', partID: 'endless' })
    if (text === 'fail')
      return run.end({ type: 'failed', error: { name: 'APIError', message: 'Overloaded', raw: undefined } })
    if (text === 'ask') return question(run, questions, () => say(run, 'Thanks.'))
    if (text.startsWith('run ')) {
      const commands = text.slice(4).split(' & ')
      let left = commands.length
      for (const command of commands) permit(run, command, () => --left === 0 && say(run, 'Done.'))
      return
    }
    say(run, `You said: ${text}`)
  }
}

const questions = [
  {
    header: 'Color',
    question: 'Which color?',
    options: ['Red', 'Blue'].map((label) => ({ label, description: '' })),
    multiple: false,
    custom: false,
  },
  { header: 'Sizes', question: 'Which sizes?', options: [], multiple: true, custom: true },
]

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
