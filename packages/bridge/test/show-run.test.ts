import { observerOf, type Reply, replay } from '@reply/core'
import { readRecording } from '@reply/testing'
import { expect, test } from 'vitest'
import type { ActiveRun } from '../src/runs/active-runs.ts'
import { observersOf } from '../src/runs/show-run.ts'

test('what is left out as it comes is left out of a mirror, too, that is shown it later', async () => {
  const told: string[] = []
  let isOpen = (): void => {}
  const after = new Promise<void>((resolve) => {
    isOpen = resolve
  })
  const place = (name: string, more: object) => ({
    ...{ channel: name, chat: { id: '1' }, ...more },
    sink: observerOf(({ reply }: { readonly reply: Reply }) => void told.push(`${name} ${reply.outcome ?? 'open'}`)),
  })
  const shows = [place('own', {}), place('mirror', { after })] as unknown as ActiveRun['sinks']
  let isLeftOut = true
  const observers = observersOf(
    shows,
    () => {},
    false,
    () => isLeftOut,
  )
  const { bytes } = readRecording({ version: '1.18.33', scenario: 'plain' })
  await replay(bytes, { observe: () => observers })
  isLeftOut = false
  isOpen()
  await after
  expect(told).toEqual([])
  await replay(bytes, { observe: () => observers })
  expect(new Set(told)).toEqual(new Set(['own open', 'own completed', 'mirror open', 'mirror completed']))
})
