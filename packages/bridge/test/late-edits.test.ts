import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createLateEdits } from '../src/chats/late-edits.ts'
import { createMembership, type HeldLease } from '../src/members/membership.ts'
import { createSharedState, createState, createStoreReports } from '../src/state/state.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'

const key = '1000/ses_1/msg_1'

/** A process on the state that all have in common. */
function stage() {
  const clock = createHandClock()
  const memory = createStoreMemory()
  return { clock, open }

  function open(member: string, ownerOf: Parameters<typeof createLateEdits>[2] = () => undefined) {
    const store = createMemoryStore({ clock, memory })
    const renewed: (() => void)[] = []
    let lease: HeldLease | undefined
    const membership = createMembership({
      ...{ store, clock, member, onWaiting: () => {}, onStalled: () => {}, onBack: () => {}, onLost: () => {} },
      ...{ onExcess: () => {}, onLeft: () => {}, onJoined: () => {} },
      request: () => ({ layout: '', wants: { shard: ['shard/00'] }, budgets: {} }),
      onGranted: (granted) => {
        lease = granted
      },
      onBeat: () => {
        for (const one of renewed) one()
      },
    })
    const common = { store, clock, stopping: new AbortController().signal, reports: createStoreReports(() => {}) }
    const owned = { current: () => lease?.current(), renew: async () => (await lease?.renew()) ?? false }
    const state = createState({ ...common, shard: '00', lease: owned })
    const late = createLateEdits(createSharedState(common), 'tg', ownerOf)
    renewed.push(() => void late.callListeners())
    const heard: string[] = []
    const listen = (): (() => void) => late.listen(key, async ({ id }) => void heard.push(id))
    return { membership, state, late, listen, heard }
  }
}

async function rest(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('what a process tells that lost the lease is heard by the one that has it, once', async () => {
  const { clock, open } = stage()
  const [first, second] = [open('first'), open('second')]
  await first.membership.join()
  await first.membership.leave()
  await second.membership.join()
  second.listen()
  await expect(first.state.commit([])).rejects.toMatchObject({ type: 'taken-over' })
  await first.late.report(key, { id: '7' })
  await clock.advance(3000, rest)
  expect(second.heard).toEqual(['7'])
  expect(await second.state.list('late/')).toEqual([])
  await second.membership.leave()
})

test('what was told before a reply is shown again waits for that, and a reply that is not listened to hears nothing', async () => {
  const { clock, open } = stage()
  const [first, second] = [open('first'), open('second')]
  await first.late.report(key, { id: '7' })
  await second.membership.join()
  second.late.listen('1000/ses_1/msg_2', async ({ id }) => void second.heard.push(`other ${id}`))
  await clock.advance(3000, rest)
  const end = second.listen()
  end()
  await clock.advance(3000, rest)
  expect(second.heard).toEqual([])
  second.listen()
  await clock.advance(3000, rest)
  expect(second.heard).toEqual(['7'])
  await second.membership.leave()
})

test('it is told again for as long as it is not written down', async () => {
  const { clock, open } = stage()
  const only = open('only')
  await only.membership.join()
  await only.late.report(key, { id: '7' })
  let count = 0
  only.late.listen(key, async () => {
    if (++count === 1) throw new Error('The ledger could not be written.')
  })
  await expect(only.late.callListeners()).rejects.toThrow('could not be written')
  await clock.advance(3000, rest)
  expect(count).toBe(2)
  await only.membership.leave()
})

test('a listener that is still at work is not called again because another one failed', async () => {
  const { open } = stage()
  const only = open('only')
  await only.membership.join()
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
  await only.membership.leave()
})

test('the owner of a chat shows a reply again whose listener is from before another process had the chat', async () => {
  const { open } = stage()
  const shown: string[] = []
  let shard = { name: 'first' }
  const only = open('only', () => {
    const { name } = shard
    return { shard, showAgain: () => void shown.push(name) }
  })
  await only.membership.join()
  await only.late.report(key, { id: '7' })
  const end = only.late.listen(key, async () => {
    end()
    throw new Error('Another process shows the reply.')
  })
  await only.late.callListeners()
  await only.late.callListeners()
  expect(shown).toEqual(['first'])
  shard = { name: 'second' }
  await only.late.callListeners()
  expect(shown).toEqual(['first', 'second'])
  only.listen()
  await only.late.callListeners()
  expect(only.heard).toEqual(['7'])
  await only.membership.leave()
})
