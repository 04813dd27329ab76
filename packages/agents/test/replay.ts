import { readFileSync } from 'node:fs'
import type { Reply } from '@reply/core'
import { connectSource, createLocalAgent, type LocalRun } from '@reply/core/source'

/** A line of a recording: of the agent, or what was written to it. */
export interface Recorded {
  readonly from: string
  readonly line: {
    readonly type?: string
    readonly id?: number
    readonly method?: string
    readonly params?: unknown
    readonly result?: { readonly decision?: unknown }
    readonly response?: { readonly response?: object }
  }
}

export const recordingOf = (agent: string, name: string): readonly Recorded[] =>
  readFileSync(new URL(`../recordings/${agent}/${name}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

/** How a person answers what is asked. */
export type Answer = 'once' | 'reject' | readonly (readonly string[])[]

/** Runs one prompt of an agent that `play` stands for, and answers its asks. */
export async function runRecorded(play: (run: LocalRun) => void, answer?: Answer): Promise<Reply> {
  const agent = createLocalAgent({
    name: 'recorded',
    create: () => ({ sessionID: 'ses_recorded', directory: '/project' }),
    prompt: async (run) => play(run),
    cancel: () => {},
  })
  const opencode = connectSource(agent.source)
  const stream = opencode.prompt(
    { text: 'Go.' },
    {
      observe: () => [
        {
          permissionAsked: ({ ask }) => {
            if (answer === 'reject') void opencode.reject(ask, 'Not in this folder.')
            else if (answer === 'once') void opencode.answer(ask, 'once')
          },
          questionAsked: ({ ask }) => {
            if (Array.isArray(answer)) void opencode.answer(ask, answer)
          },
        },
      ],
    },
  )
  const reply = await stream.result
  await opencode.close()
  return reply
}
