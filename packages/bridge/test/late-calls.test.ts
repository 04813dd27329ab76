import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createLateCalls } from '../src/late-calls.ts'
import { createLeaseKeeper } from '../src/lease-keeper.ts'
import { createState } from '../src/state.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'

const key = '1000/ses_1/msg_1'

/** A process on the state that all have in common. */
function stage() {
  const clock = createHandClock()
  const memory = createStoreMemory()
  return { clock, open }

  function open(holder: string) {
    const store = createMemoryStore({ clock, memory })
    const events: string[] = []
    const renewed: (() => void)[] = []
    const keeper = createLeaseKeeper({
      ...{ store, clock, holder, onWaiting: () => {}, onStalled: () => {}, onBack: () => {} },
      onLost: () => events.push('lost'),
      onRenewed: () => {
        for (const one of renewed) one()
      },
    })
    const stopping = new AbortController().signal
    const state = createState({ store, keeper, clock, stopping, onError: () => {} })
    const late = createLateCalls(state, 'tg', () => clock.now())
    renewed.push(() => void late.look())
    const heard: string[] = []
    const listen = (): (() => void) => late.listen(key, async ({ id }) => void heard.push(id))
    return { keeper, state, late, listen, heard, events }
  }
}

async function rest(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('what a process tells that lost the lease is heard by the one that has it, once', async () => {
  const { clock, open } = stage()
  const [first, second] = [open('first'), open('second')]
  await first.keeper.take()
  await first.keeper.release()
  await second.keeper.take()
  second.listen()
  await expect(first.state.commit([])).rejects.toMatchObject({ type: 'taken-over' })
  await first.late.tell(key, { id: '7' })
  await clock.advance(3000, rest)
  expect(second.heard).toEqual(['7'])
  expect(await second.state.list('late/')).toEqual([])
  await second.keeper.release()
})

test('what was told before a reply is shown again waits for that, and a reply that is not listened to hears nothing', async () => {
  const { clock, open } = stage()
  const [first, second] = [open('first'), open('second')]
  await first.late.tell(key, { id: '7' })
  await second.keeper.take()
  second.late.listen('1000/ses_1/msg_2', async ({ id }) => void second.heard.push(`other ${id}`))
  await clock.advance(3000, rest)
  const end = second.listen()
  end()
  await clock.advance(3000, rest)
  expect(second.heard).toEqual([])
  second.listen()
  await clock.advance(3000, rest)
  expect(second.heard).toEqual(['7'])
  await second.keeper.release()
})

test('it is told again for as long as it is not written down', async () => {
  const { clock, open } = stage()
  const only = open('only')
  await only.keeper.take()
  await only.late.tell(key, { id: '7' })
  let count = 0
  only.late.listen(key, async () => {
    if (++count === 1) throw new Error('The ledger could not be written.')
  })
  await expect(only.late.look()).rejects.toThrow('could not be written')
  await clock.advance(3000, rest)
  expect(count).toBe(2)
  await only.keeper.release()
})
