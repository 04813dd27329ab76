import { setTimeout as sleep } from 'node:timers/promises'
import { type Store, StoreError, type StoreLease, type Write } from '@reply/bridge'
import { type PostgresProxy, type PostgresServer, seededRandom, startPostgresProxy } from '@reply/testing/internal'
import { postgresStore } from '../src/index.ts'
import { beatForLease } from './stage.ts'

/** What a plan consists of. */
export interface OutcomePlan {
  /** The URL of the database. */
  readonly url: string
  /** The server, if it also crashes, restarts and stands still. */
  readonly server?: PostgresServer
  readonly seed: number
  /** How many faults there are, one after the other. */
  readonly faults: number
}

/** A commit, and what its caller knows of it. */
interface Tried {
  /** The id of its entry in the queue `log`. */
  readonly id: string
  readonly store: number
  readonly writes: readonly Write[]
  readonly lease: StoreLease | undefined
  /** When it was called and settled, as positions in the order of all calls and ends. */
  readonly calledAt: number
  settledAt?: number
  outcome?: string
}

const storeCount = 3
/** How many callers of a store commit at the same time. */
const callers = 2
const slots = ['slot0', 'slot1', 'slot2']
/** Outcomes that also occur without faults. */
const usual = ['done', 'conflict', 'fenced']

/**
 * Lets three stores commit on one state, each over a network of its own, while networks and the server fail by a plan. Then
 * compares the state with what their callers were told. Goes on until each usual outcome occurred. Resolves with what is wrong, and
 * with how often each outcome occurred.
 */
export async function playOutcomes({
  url,
  server,
  seed,
  faults,
}: OutcomePlan): Promise<{ readonly wrong: readonly string[]; readonly outcomes: Readonly<Record<string, number>> }> {
  const random = seededRandom(seed)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
  const schema = `outcomes ${seed}`
  await (await postgresStore({ url, schema })).close()
  const proxies: PostgresProxy[] = []
  const stores: Store[] = []
  for (let index = 0; index < storeCount; index++) {
    const proxy = await startPostgresProxy({ target: url })
    proxies.push(proxy)
    stores.push(await postgresStore({ url: proxy.url, schema }))
  }
  const tried: Tried[] = []
  const leases: (StoreLease | undefined)[] = []
  let time = 0
  let isOver = false

  /** Returns the writes of a commit, beside its entry in the log. */
  async function writesOf(store: Store, id: string): Promise<readonly Write[]> {
    switch (pick(['log', 'slot', 'count', 'enqueue', 'enqueue', 'dequeue', 'free'])) {
      case 'slot':
        return [{ type: 'put-if-absent', key: pick(slots), value: id }]
      case 'free': {
        const key = pick(slots)
        const expected = await store.read(key)
        return expected === undefined ? [] : [{ type: 'compare-and-set', key, expected, value: undefined }]
      }
      case 'count': {
        const expected = await store.read('count')
        return [{ type: 'compare-and-set', key: 'count', expected, value: `${Number(expected ?? 0) + 1}` }]
      }
      case 'enqueue':
        return [{ type: 'enqueue', queue: 'work', id, value: id }]
      case 'dequeue': {
        const found = pick((await store.queue('work')).slice(0, 5))
        return found ? [{ type: 'dequeue', queue: 'work', id: found.id }] : []
      }
      default:
        return []
    }
  }

  /** Commits one after the other until the end. */
  async function call(index: number, caller: number): Promise<void> {
    const store = stores[index] as Store
    for (let round = 0; !isOver; round++) {
      try {
        // Its holder is replaced again and again.
        if (random() < 0.2) {
          const lease = await beatForLease(store, `${index}`, { forMs: 30 })
          if (lease) leases[index] = lease
        }
        const id = `${index}.${caller}.${round}`
        const writes = await writesOf(store, id)
        const lease = random() < 0.5 ? leases[index] : undefined
        const one: Tried = { id, store: index, lease, calledAt: time++, writes: [...writes, logged(id, lease)] }
        tried.push(one)
        one.outcome = await store.commit(one.writes, lease).then(
          ({ type }) => type,
          (error: unknown) => (error instanceof StoreError ? error.type : String(error)),
        )
        one.settledAt = time++
        if (one.outcome === 'busy') await sleep(10)
      } catch (error) {
        if (!(error instanceof StoreError && error.type === 'busy')) throw error
        await sleep(10)
      }
    }
  }

  /** Lets something fail for a while. */
  async function fail(): Promise<void> {
    const proxy = pick(proxies)
    const isCommit = (bytes: Buffer): boolean => bytes.includes('commit_batch')
    const network = ['query', 'answer', 'answer', 'answer', 'break', 'refuse', 'silent', 'slow'] as const
    const kind = pick(server ? ([...network, 'crash', 'restart', 'suspend'] as const) : network)
    const whileMs = Math.floor(random() ** 3 * (server ? 6000 : 700))
    switch (kind) {
      case 'query':
        void proxy.loseNextQuery(isCommit)
        break
      case 'answer':
        void proxy.loseNextAnswer(isCommit)
        break
      case 'break':
        proxy.breakConnections()
        break
      case 'refuse':
      case 'silent':
        await proxy.cutOff(kind)
        await sleep(whileMs)
        if (random() < 0.3) proxy.breakConnections()
        await proxy.restore()
        break
      case 'slow':
        proxy.delay({ toServerMs: random() * 50, toClientMs: random() * 50 })
        await sleep(whileMs)
        proxy.delay({})
        break
      case 'crash':
        await server?.crash()
        await server?.start()
        break
      case 'restart':
        await server?.stop()
        await sleep(whileMs / 10)
        await server?.start()
        break
      case 'suspend':
        await server?.suspend()
        await sleep(whileMs)
        server?.resume()
        break
      default:
        kind satisfies never
    }
    await sleep(random() * 60)
  }

  const calls = stores.flatMap((_, index) => Array.from({ length: callers }, (__, caller) => call(index, caller)))
  const all = Promise.all(calls)
  for (let index = 0; index < faults; index++) await Promise.race([fail(), all])
  // On a busy machine, the faults are over before the stores have met.
  const hasAll = (): boolean => usual.every((outcome) => tried.some((one) => one.outcome === outcome))
  while (!hasAll()) await Promise.race([sleep(10), all])
  isOver = true
  // A call that never settles would keep the test waiting, without a reason.
  const isPending = Symbol('pending')
  const ended = await Promise.race([all, sleep(60_000, isPending, { ref: false })])
  for (const proxy of proxies) await proxy.close()
  const found = await postgresStore({ url, schema })
  const state = { log: await found.queue('log'), work: await found.queue('work'), values: await found.list('') }
  for (const store of [...stores, found]) await store.close()
  const outcomes: Record<string, number> = {}
  for (const { outcome = 'pending' } of tried) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  const wrong = [...(ended === isPending ? ['Calls are pending.'] : []), ...faultsIn(tried, state)]
  return { wrong, outcomes }
}

/** Returns the entry of a commit in the log, with the fence of its lease. */
function logged(id: string, lease: StoreLease | undefined): Write {
  return { type: 'enqueue', queue: 'log', id, value: lease ? `${lease.fence}` : '' }
}

/** Returns how a state contradicts what the callers were told. */
function faultsIn(
  tried: readonly Tried[],
  {
    log,
    work,
    values,
  }: {
    readonly log: readonly { readonly id: string; readonly value: string }[]
    readonly work: readonly { readonly id: string }[]
    readonly values: readonly { readonly key: string; readonly value: string }[]
  },
): readonly string[] {
  const wrong: string[] = []
  const places = new Map(log.map(({ id }, place) => [id, place]))
  for (const { id, outcome = 'pending' } of tried)
    if ((outcome === 'done') !== places.has(id))
      wrong.push(`${id} is ${outcome}, but ${places.has(id) ? '' : 'not '}made`)
  const made = tried
    .filter(({ id }) => places.has(id))
    .toSorted((one, other) => (places.get(one.id) ?? 0) - (places.get(other.id) ?? 0))

  // What was called after another had settled, or after another of the same store, comes later.
  let latest = 0
  const latestOfStore: number[] = []
  for (const { id, store, calledAt, settledAt = Number.POSITIVE_INFINITY } of made) {
    if (settledAt < latest) wrong.push(`${id} was done before another was called that precedes it`)
    if (calledAt < (latestOfStore[store] ?? 0)) wrong.push(`${id} was overtaken in its store`)
    latest = Math.max(latest, calledAt)
    latestOfStore[store] = calledAt
  }
  const fences = made.flatMap(({ lease }) => (lease ? [lease.fence] : []))
  if (fences.some((fence, index) => fence < (fences[index - 1] ?? 0))) wrong.push(`A lease wrote late: ${fences}`)

  // In the order of the log, each write must have been possible, and the state must be what they leave.
  const expected = new Map<string, string>()
  let queue: readonly string[] = []
  for (const { id, writes } of made)
    for (const write of writes) {
      const isPossible = ((): boolean => {
        switch (write.type) {
          case 'put-if-absent':
            return !expected.has(write.key)
          case 'compare-and-set':
            return expected.get(write.key) === write.expected
          case 'dequeue':
            return queue.includes(write.id)
          default:
            return true
        }
      })()
      if (!isPossible) wrong.push(`${id} is done although it conflicts`)
      if (write.type === 'compare-and-set' && write.value === undefined) expected.delete(write.key)
      else if (write.type === 'put-if-absent' || write.type === 'compare-and-set')
        expected.set(write.key, write.value ?? '')
      else if (write.type === 'dequeue') queue = queue.filter((other) => other !== write.id)
      else if (write.type === 'enqueue' && write.queue === 'work') queue = [...queue, write.id]
    }
  const found = [values.map(({ key, value }) => [key, value]), work.map(({ id }) => id)]
  const modeled = [[...expected].toSorted(([one], [other]) => (one < other ? -1 : 1)), queue]
  if (JSON.stringify(found) !== JSON.stringify(modeled))
    wrong.push(`The state is ${JSON.stringify(found)}, not ${JSON.stringify(modeled)}`)
  return wrong
}
