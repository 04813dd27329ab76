import { emptyReply, type Observation, observerOf, type Reply, type ReplyObserver } from '@reply/core'
import { expect, test } from 'vitest'
import type { ActiveRun } from '../src/runs/active-runs.ts'
import { createOwnShow } from '../src/runs/own-show.ts'
import { observersOf, passOn } from '../src/runs/show-run.ts'

const replyAt = (startedAt: number): Reply => ({ ...emptyReply('ses_1'), startedAt })

/** Sends an observation of the reply that started then to all of the observers. */
function tell(observers: readonly ReplyObserver[], type: 'replyStarted' | 'phaseChanged', startedAt: number): void {
  for (const observer of observers) passOn(observer, { type, reply: replyAt(startedAt) } as unknown as Observation)
}

test('who shows a reply is decided again for each reply that the prompt turns out to be in, also if it joined both', () => {
  const seen: string[] = []
  let joined: boolean | undefined = false
  const elsewhere = [2, 3]
  const show = createOwnShow({
    joined: () => joined,
    isShownByOther: ({ startedAt }) => joined === true && elsewhere.includes(startedAt ?? 0),
    now: () => 0,
  })
  const note = (name: string) => observerOf(({ type, reply }) => void seen.push(`${name} ${type} ${reply.startedAt}`))
  show.decide(replyAt(1))
  const observers = show.whileShown([note('sink')], [note('other')])
  tell(observers, 'replyStarted', 1)
  joined = undefined
  tell(observers, 'phaseChanged', 1)
  seen.length = 0
  joined = true
  for (const startedAt of [2, 2, 3]) tell(observers, 'phaseChanged', startedAt)
  expect([seen, show.isElsewhere()]).toEqual([['sink replySettled 2'], true])
  seen.length = 0
  for (const startedAt of [4, 4]) tell(observers, 'phaseChanged', startedAt)
  expect([seen, show.isElsewhere()]).toEqual([
    [
      'sink replyStarted 4',
      'sink phaseChanged 4',
      'other phaseChanged 4',
      'sink phaseChanged 4',
      'other phaseChanged 4',
    ],
    false,
  ])
})

test('a mirror that waits for the prompt gets the end of what another run shows after its beginning', async () => {
  const seen: string[] = []
  let isOpen = (): void => {}
  const after = new Promise<void>((resolve) => {
    isOpen = resolve
  })
  const place = (name: string, more: object) => ({
    ...{ channel: name, chat: { id: '1' }, ...more },
    sink: observerOf(({ type }) => void seen.push(`${name} ${type}`)),
  })
  const sinks = [place('own', {}), place('mirror', { after })] as unknown as ActiveRun['sinks']
  let joined = false
  const show = createOwnShow({ joined: () => joined, isShownByOther: () => joined, now: () => 0 })
  show.decide(replyAt(1))
  const observers = show.whileShown(
    observersOf(sinks, () => {}, false),
    [],
  )
  tell(observers, 'replyStarted', 1)
  joined = true
  tell(observers, 'phaseChanged', 2)
  isOpen()
  await after
  expect(seen).toEqual(['own replyStarted', 'own replySettled', 'mirror replyStarted', 'mirror replySettled'])
})
