import type { Client } from '@reply/core'
import type { LocalRun } from '@reply/core/source'
import { createHandClock, type HandClock } from '@reply/testing'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { type Chats, type StartChats, startChats } from './chats.ts'
import { localAgent } from './local-agent.ts'
import { telegramOn } from './platforms.ts'

/** Ann's chat 1 and Bob's chat 2 on Telegram, with an agent of the test's own, in a time that passes by hand. */
export interface HandDriven {
  readonly telegram: FakeTelegram
  readonly chats: Chats
  readonly clock: HandClock
  /** The prompts that the agent got. */
  readonly heard: readonly string[]
  /** Begins a run that another client of the agent prompts. */
  desk(sessionID: string, text: string, directory?: string): LocalRun
  /** Lets another client prompt a session that is at work, with `takesPromptsWhileBusy`. */
  join(sessionID: string, text: string): Promise<void>
  /** Begins a run that the agent begins by itself. */
  wake(sessionID: string): LocalRun
  /** The bot's messages in a chat. */
  said(chat: number): readonly string[]
  /** Lets time pass in steps until it is so, for two minutes at most. Resolves with how much did, in ms. Default step: 100 ms. */
  passes(isSo: () => boolean, stepMs?: number): Promise<number>
  /** Waits until it is so, without letting time pass. */
  rests(isSo: () => boolean): Promise<void>
  /** Stops the bridge, which waits a moment for posts that the platform does not confirm. */
  stop(): Promise<void>
}

export async function startHandDriven(
  act: (run: LocalRun, text: string) => void,
  {
    groups = [],
    changed = (opencode) => opencode,
    takesPromptsWhileBusy = false,
    clock = createHandClock(),
    ...options
  }: Omit<StartChats, 'clock'> & {
    readonly groups?: readonly number[]
    /** Whether a prompt joins the running reply. Default: false. */
    readonly takesPromptsWhileBusy?: boolean
    /** Default: a new one. */
    readonly clock?: HandClock
    /** Changes the connection to the agent. */
    readonly changed?: (opencode: Client) => Client
  } = {},
): Promise<HandDriven> {
  const all = [
    { id: 1, type: 'private', title: 'Ann' },
    { id: 2, type: 'private', title: 'Bob' },
    ...groups.map((id) => ({ id, type: id < -1000 ? 'supergroup' : 'group', title: 'Shop' }) as const),
  ] as const
  const telegram = await startTelegram({ token: '42:secret', clock, chats: all })
  const agent = localAgent(act, clock, takesPromptsWhileBusy)
  const chats = await startChats({ platforms: [telegramOn(telegram)], connectTo: () => changed(agent.connectTo()) })
  await chats.start({ ...options, clock })
  return {
    ...{
      telegram,
      chats,
      clock,
      heard: agent.heard,
      desk: agent.desk,
      join: agent.join,
      wake: agent.wake,
      passes,
      rests,
      stop,
    },
    said: (chat) => telegram.screen(chat).flatMap(({ from, text }) => (from === 'bot' ? [text] : [])),
  }

  async function stop(): Promise<void> {
    let isStopped = false
    void chats.stop().then(() => {
      isStopped = true
    })
    await passes(() => isStopped)
  }

  async function rests(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
  }

  async function passes(isSo: () => boolean, stepMs = 100): Promise<number> {
    const began = clock.now()
    while (!isSo() && clock.now() - began < 120_000) {
      // Answers over the network take real time.
      for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
      await clock.advance(stepMs)
    }
    return clock.now() - began
  }
}
