import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createLateEdits } from '../src/chats/late-edits.ts'
import { createBridgeLease } from '../src/state/bridge-lease.ts'
import { createState } from '../src/state/state.ts'
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
    const lease = createBridgeLease({
      ...{ store, clock, holder, onWaiting: () => {}, onStalled: () => {}, onBack: () => {} },
      onLost: () => events.push('lost'),
      onRenewed: () => {
        for (const one of renewed) one()
      },
    })
    const stopping = new AbortController().signal
    const state = createState({ store, lease, clock, stopping, onError: () => {} })
    const late = createLateEdits(state, 'tg')
    renewed.push(() => void late.callListeners())
    const heard: string[] = []
    const listen = (): (() => void) => late.listen(key, async ({ id }) => void heard.push(id))
    return { lease, state, late, listen, heard, events }
  }
}

async function rest(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('what a process tells that lost the lease is heard by the one that has it, once', async () => {
  const { clock, open } = stage()
  const [first, second] = [open('first'), open('second')]
  await first.lease.takeLease()
  await first.lease.release()
  await second.lease.takeLease()
  second.listen()
  await expect(first.state.commit([])).rejects.toMatchObject({ type: 'taken-over' })
  await first.late.report(key, { id: '7' })
  await clock.advance(3000, rest)
  expect(second.heard).toEqual(['7'])
  expect(await second.state.list('late/')).toEqual([])
  await second.lease.release()
})

test('what was told before a reply is shown again waits for that, and a reply that is not listened to hears nothing', async () => {
  const { clock, open } = stage()
  const [first, second] = [open('first'), open('second')]
  await first.late.report(key, { id: '7' })
  await second.lease.takeLease()
  second.late.listen('1000/ses_1/msg_2', async ({ id }) => void second.heard.push(`other ${id}`))
  await clock.advance(3000, rest)
  const end = second.listen()
  end()
  await clock.advance(3000, rest)
  expect(second.heard).toEqual([])
  second.listen()
  await clock.advance(3000, rest)
  expect(second.heard).toEqual(['7'])
  await second.lease.release()
})

test('it is told again for as long as it is not written down', async () => {
  const { clock, open } = stage()
  const only = open('only')
  await only.lease.takeLease()
  await only.late.report(key, { id: '7' })
  let count = 0
  only.late.listen(key, async () => {
    if (++count === 1) throw new Error('The ledger could not be written.')
  })
  await expect(only.late.callListeners()).rejects.toThrow('could not be written')
  await clock.advance(3000, rest)
  expect(count).toBe(2)
  await only.lease.release()
})

test('a listener that is still at work is not called again because another one failed', async () => {
  const { open } = stage()
  const only = open('only')
  await only.lease.takeLease()
  await only.late.report(key, { id: '7' })
  await only.late.report('1000/ses_1/msg_2', { id: '8' })
  let end = (): void => {}
  let count = 0
  only.late.listen(key, () => Promise.reject(new Error('The ledger could not be written.')))
  only.late.listen('1000/ses_1/msg_2', async () => {
    count++
    await new Promise<void>((resolve) => {
      end = resolve
    })
  })
  const calling = only.late.callListeners()
  await rest()
  await only.late.callListeners()
  end()
  await expect(calling).rejects.toThrow('could not be written')
  expect(count).toBe(1)
  await only.lease.release()
})
