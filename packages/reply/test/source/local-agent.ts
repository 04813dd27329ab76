import { ReplyError } from '../../src/index.ts'
import { createLocalAgent, type LocalAgentOptions, type LocalRun } from '../../src/source.ts'

/** A local agent whose prompts say what it does, for tests. */
export function createScripted(more: Partial<LocalAgentOptions> = {}) {
  const allowed = new Set<string>()
  const heard: string[] = []
  let asks = 0
  let sessions = 0
  const agent = createLocalAgent({
    name: 'a scripted agent',
    create: ({ directory }) => ({ sessionID: `ses_${++sessions}`, directory }),
    prompt: async (run, { text = '' }) => {
      heard.push(text)
      act(run, text)
    },
    cancel: (run) => run.end({ type: 'aborted' }),
    models: async () => [{ providerID: 'p', modelID: 'm', name: 'M', variants: [] }],
    commands: async () => [{ name: 'review' }],
    ...more,
  })
  return { ...agent, heard, act }

  function act(run: LocalRun, text: string): void {
    if (text === 'endless') return run.write({ type: 'text', delta: 'On and on.' })
    if (text === 'wait') return
    if (text === 'permission' || text === 'always') return permit(run, text, () => run.end({ type: 'completed' }))
    if (text === 'question') return question(run)
    if (text === 'delegate') return delegate(run, permit)
    run.write({ type: 'reasoning', delta: 'Hm.' }, { type: 'text', delta: 'An ' }, { type: 'text', delta: 'answer.' })
    run.end({ type: 'completed' })
  }

  function permit(run: LocalRun, pattern: string, then: () => void): void {
    const callID = `call_${++asks}`
    const input = { command: pattern }
    const tool = (status: 'running' | 'completed' | 'error', error?: string): void =>
      run.write({ type: 'tool', callID, tool: 'bash', state: { status, input, error } })
    tool('running')
    if (allowed.has(pattern)) {
      tool('completed')
      return then()
    }
    run.ask({
      type: 'permission',
      requestID: `per_${asks}`,
      callID,
      permission: 'bash',
      patterns: [pattern],
      always: [pattern],
      title: pattern,
      metadata: {},
      reply: (answer) => {
        if (answer.type === 'canceled') return void heard.push('canceled')
        if (answer.type === 'always') allowed.add(pattern)
        if (answer.type === 'rejected') tool('error', answer.message ?? 'Rejected.')
        else tool('completed')
        setImmediate(then)
      },
    })
  }

  function question(run: LocalRun): void {
    run.ask({
      type: 'question',
      requestID: `que_${++asks}`,
      questions: [
        {
          header: 'Color',
          question: 'Which?',
          options: [{ label: 'Red', description: '' }],
          multiple: false,
          custom: false,
        },
      ],
      reply: (answer) => {
        if (answer.type === 'answered') run.write({ type: 'text', delta: answer.answers.flat().join() })
        setImmediate(() => run.end({ type: 'completed' }))
      },
    })
  }
}

/** Starts a sub-agent that asks whether it may list files, and ends both runs once that is answered. */
export function delegate(run: LocalRun, permit: (run: LocalRun, command: string, then: () => void) => void): void {
  const metadata = { sessionId: `${run.sessionID}_child` }
  const input = { description: 'Look around' }
  const call = { type: 'tool', callID: 'task', tool: 'task' } as const
  run.write({ ...call, state: { status: 'running', input, metadata } })
  const child = run.child({ sessionID: metadata.sessionId, title: 'Look around', text: 'Look.' })
  permit(child, 'ls', () => {
    child.end({ type: 'completed' })
    run.write({ ...call, state: { status: 'completed', input, metadata, output: 'Looked.' } })
    run.end({ type: 'completed' })
  })
}

/** One that can't be started. */
export function createUnreachable() {
  return createScripted({
    start: async () => {
      throw new ReplyError('unreachable', 'There is no such command: install it.')
    },
  })
}
