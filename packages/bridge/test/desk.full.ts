import type { LocalRun } from '@reply/core/source'
import { afterEach, expect, test } from 'vitest'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

let driven: HandDriven | undefined
afterEach(async () => {
  await driven?.stop()
  driven = undefined
})

/** The session that the chat's first prompt began. */
let sessionID = ''

/** Starts a bridge for an agent whose sessions another client prompts too, and lets Ann's chat begin a session. */
async function startDesk(options: Parameters<typeof startHandDriven>[1] = {}): Promise<HandDriven> {
  driven = await startHandDriven((run) => {
    sessionID = run.sessionID
    answer(run, 'Hello to you.')
  }, options)
  driven.telegram.say(1, 'Hi')
  await driven.passes(() => driven?.said(1).includes('Hello to you.') === true)
  return driven
}

/** Lets a run ask. Returns the answers that the agent got. */
function askIn(run: LocalRun, requestID: string): readonly string[] {
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

const shows =
  (words: string, chat = 1) =>
  (): boolean =>
    driven?.said(chat).some((text) => text.includes(words)) === true

const posted = (words: string, chat = 1) =>
  driven?.telegram.screen(chat).filter(({ from, text }) => from === 'bot' && text.includes(words)) ?? []

test('each of 200 sub-agents of the desk asks once, at any depth, in the chat of the session', async () => {
  const { desk, passes } = await startDesk()
  const run = desk(sessionID, 'Go')
  const parents = [run]
  for (let nth = 0; nth < 200; nth++) {
    const parent = parents[Math.floor(nth / 2)] ?? run
    const child = parent.child({
      sessionID: `ses_child_${nth}`,
      title: `Child ${nth}`,
      text: 'Look.',
      background: false,
    })
    parents.push(child)
    askIn(child, `child${nth}x`)
  }
  const missing = (): readonly number[] => [...Array(200).keys()].filter((nth) => !shows(`touch child${nth}x`)())
  // A private chat gets three messages in 3.3 s.
  for (let round = 0; round < 4 && missing().length > 0; round++) await passes(() => missing().length === 0, 3300)
  expect(missing()).toEqual([])
  const counts = new Set([...Array(200).keys()].map((nth) => posted(`touch child${nth}x`).length))
  expect([...counts]).toEqual([1])
  expect(driven?.said(2)).toEqual([])
  run.end({ type: 'completed' })
}, 300_000)
