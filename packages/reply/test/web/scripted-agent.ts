import { createLocalAgent, type LocalAgent, type LocalRun, type SourcePrompt } from '../../src/source.ts'

/** Questions that a run asks, as its call has them. */
interface Question {
  readonly header: string
  readonly question: string
  readonly options: readonly { readonly label: string; readonly description: string }[]
  readonly multiple: boolean
  readonly custom: boolean
}

/** An agent for tests of handlers. It does with each prompt what `act` does. */
export interface ScriptedAgent {
  readonly agent: LocalAgent
  /** The prompts that it got. */
  readonly heard: readonly SourcePrompt[]
  /** The answers that it got, for example `ls: once`, `ls: rejected Why` or `[["Blue"]]`. */
  readonly answers: string[]
  readonly runs: readonly LocalRun[]
  /** The newest run. Throws if there is none. */
  run(): LocalRun
  /** Writes a text and ends the run. */
  say(run: LocalRun, text: string): void
  /** Asks whether the run may call bash with a command, and calls `then` once a person has decided. */
  permit(run: LocalRun, command: string, then: () => unknown): void
  /** Asks questions, and calls `then` once they are answered or rejected. */
  question(run: LocalRun, questions: readonly Question[], then: () => unknown): void
}

/** Creates the agent. It has the session `ses_1` already, and makes `ses_2` and so on. */
export function createScriptedAgent(act: (run: LocalRun, text: string) => void): ScriptedAgent {
  const heard: SourcePrompt[] = []
  const answers: string[] = []
  const runs: LocalRun[] = []
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
  return { agent, heard, answers, runs, run, say, permit, question }

  function run(): LocalRun {
    const last = runs.at(-1)
    if (!last) throw new Error('Nothing has run.')
    return last
  }

  function say(target: LocalRun, text: string): void {
    target.write({ type: 'text', delta: text })
    target.end({ type: 'completed' })
  }

  /** Returns the id of another ask, and what writes the state of its call. */
  function begin(target: LocalRun, tool: string, input: Readonly<Record<string, unknown>>) {
    const number = ++asks
    const callID = `call_${number}`
    const write = (
      status: 'running' | 'completed' | 'error',
      more: { readonly error?: string; readonly output?: string } = {},
    ): void => target.write({ type: 'tool', callID, tool, state: { status, input, ...more } })
    write('running')
    return { number, callID, write }
  }

  function permit(target: LocalRun, command: string, then: () => unknown): void {
    const { number, callID, write } = begin(target, 'bash', { command })
    target.ask({
      ...{ type: 'permission', requestID: `per_${number}`, callID },
      ...{ permission: 'bash', patterns: [command], always: [command], title: command, metadata: {} },
      reply: (answer) => {
        const reason = answer.type === 'rejected' ? answer.message : undefined
        answers.push(`${command}: ${answer.type}${reason === undefined ? '' : ` ${reason}`}`)
        if (answer.type === 'canceled') return
        if (answer.type === 'rejected') write('error', { error: reason ?? 'Rejected.' })
        else write('completed', { output: `ran ${command}` })
        setImmediate(then)
      },
    })
  }

  function question(target: LocalRun, questions: readonly Question[], then: () => unknown): void {
    const { number, callID, write } = begin(target, 'question', { questions })
    target.ask({
      ...{ type: 'question', requestID: `que_${number}`, callID, questions },
      reply: (answer) => {
        answers.push(answer.type === 'answered' ? JSON.stringify(answer.answers) : answer.type)
        write('completed', { output: 'answered' })
        if (answer.type !== 'canceled') setImmediate(then)
      },
    })
  }
}
