import type { LocalRun } from '@reply/core/source'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

/** The bridge of the test, while it runs. */
export let driven: HandDriven | undefined

/** Stops the bridge of the test. */
export async function stopDesk(): Promise<void> {
  await driven?.stop()
  driven = undefined
}

/** The session that the chat's first prompt began. */
export let sessionID = ''

/** The runs of prompts that begin with "hold", which end when the test says so. */
export const held: LocalRun[] = []

/** Starts a bridge for an agent whose sessions another client prompts too, and lets Ann's chat begin a session. */
export async function startDesk(options: Parameters<typeof startHandDriven>[1] = {}): Promise<HandDriven> {
  held.length = 0
  driven = await startHandDriven((run, text) => {
    if (text.startsWith('hold')) return void held.push(run)
    sessionID = run.sessionID
    answer(run, 'Hello to you.')
  }, options)
  driven.telegram.say(1, 'Hi')
  await driven.passes(() => driven?.said(1).includes('Hello to you.') === true)
  return driven
}

/** Lets a run ask. Returns the answers that the agent got. */
export function askIn(run: LocalRun, requestID: string): readonly string[] {
  const answers: string[] = []
  const callID = `call-${requestID}`
  run.write({
    type: 'tool',
    callID,
    tool: 'bash',
    state: { status: 'running', input: { command: `touch ${requestID}` } },
  })
  run.ask({
    ...{ type: 'permission', requestID, callID, permission: 'bash', patterns: [], always: [] },
    ...{ title: 'bash', metadata: {} },
    reply: async ({ type }) => void answers.push(type),
  })
  return answers
}

/** Returns a function that tells whether a chat shows the words. */
export const shows =
  (words: string, chat = 1) =>
  (): boolean =>
    driven?.said(chat).some((text) => text.includes(words)) === true

/** Returns the bot's messages of a chat with the words. */
export const posted = (words: string, chat = 1) =>
  driven?.telegram.screen(chat).filter(({ from, text }) => from === 'bot' && text.includes(words)) ?? []
