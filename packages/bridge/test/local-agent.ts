import { type Client, type Clock, systemClock } from '@reply/core'
import { connectSource, createLocalAgent, type LocalAgent, type LocalRun } from '@reply/core/source'

/**
 * An agent in this process that does with each prompt what the test says. `takesPromptsWhileBusy`: a prompt joins the running
 * reply, and the test then ends the run before it. The ids of its sessions are `idPrefix` and a number.
 */
export function localAgent(
  act: (run: LocalRun, text: string) => void,
  clock: Clock = systemClock,
  takesPromptsWhileBusy = false,
  idPrefix = 'ses_',
) {
  const heard: string[] = []
  let sessions = 0
  let newest: LocalAgent | undefined
  return { heard, connectTo, desk, join, wake }

  /** Lets another client prompt a session that is at work, with `takesPromptsWhileBusy`. */
  async function join(sessionID: string, text: string): Promise<void> {
    if (!newest) throw new Error('No bridge is connected.')
    await newest.source.prompt({ sessionID, directory: undefined }, { text })
  }

  /** Begins a run that the agent begins by itself, for example because a command in the background has ended. */
  function wake(sessionID: string): LocalRun {
    if (!newest) throw new Error('No bridge is connected.')
    return newest.wake({ sessionID, directory: undefined }, 'A command has ended.')
  }

  /** Begins a run that another client prompts. Its session is of that client if no chat began it. */
  function desk(sessionID: string, text: string, directory?: string): LocalRun {
    if (!newest) throw new Error('No bridge is connected.')
    if (!newest.session(sessionID)) newest.update({ sessionID, directory })
    return newest.wake({ sessionID, directory }, { parts: [{ type: 'text', text }] })
  }

  /** A bridge closes what it connected, so each gets a new one. */
  function connectTo(): Client {
    newest = createLocalAgent({
      ...{ name: 'an agent in the test', clock },
      capabilities: () => ({ takesPromptsWhileBusy }),
      create: ({ directory }) => ({ sessionID: `${idPrefix}${++sessions}`, directory }),
      prompt: async (run, { text = '' }) => {
        heard.push(text)
        act(run, text)
      },
      cancel: (run) => run.end({ type: 'aborted' }),
    })
    return connectSource(newest.source, { clock })
  }
}

/** What an agent writes, and then asks for, before it runs `touch a`. */
export const touching = {
  call: { type: 'tool', callID: 'call_1', tool: 'bash', state: { status: 'running', input: { command: 'touch a' } } },
  ask: {
    type: 'permission',
    requestID: 'per_1',
    callID: 'call_1',
    permission: 'bash',
    patterns: ['touch a'],
    always: ['touch a'],
    title: 'touch a',
    metadata: {},
  },
} as const

/** Says the words, and is done. */
export function answer(run: LocalRun, text: string): void {
  run.write({ type: 'text', delta: text })
  run.end({ type: 'completed' })
}
