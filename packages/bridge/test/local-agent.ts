import { type Client, type Clock, systemClock } from '@reply/core'
import { connectSource, createLocalAgent, type LocalRun } from '@reply/core/source'

/**
 * An agent in this process that does with each prompt what the test says. `takesPromptsWhileBusy`: a prompt joins the running
 * reply, and the test then ends the run before it.
 */
export function localAgent(
  act: (run: LocalRun, text: string) => void,
  clock: Clock = systemClock,
  takesPromptsWhileBusy = false,
) {
  const heard: string[] = []
  let sessions = 0
  return { heard, connectTo }

  /** A bridge closes what it connected, so each gets a new one. */
  function connectTo(): Client {
    const { source } = createLocalAgent({
      ...{ name: 'an agent in the test', clock },
      capabilities: () => ({ takesPromptsWhileBusy }),
      create: ({ directory }) => ({ sessionID: `ses_${++sessions}`, directory }),
      prompt: async (run, { text = '' }) => {
        heard.push(text)
        act(run, text)
      },
      cancel: (run) => run.end({ type: 'aborted' }),
    })
    return connectSource(source, { clock })
  }
}

/** Says the words, and is done. */
export function answer(run: LocalRun, text: string): void {
  run.write({ type: 'text', delta: text })
  run.end({ type: 'completed' })
}
