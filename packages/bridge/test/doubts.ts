import { ledgerKeyOf } from '@reply/sink/internal'
import type { Store } from '../src/store/store.ts'

/** Posts whose result is not known. */
export interface Doubts {
  readonly posts: number
  /** Those of them that are of messages that stay: not of a status, which is removed. */
  readonly lasting: number
}

export const noDoubts: Doubts = { posts: 0, lasting: 0 }

/** Counts the posts whose result is not known, as the ledgers in a state tell. */
export async function doubtsIn(store: Pick<Store, 'list'>): Promise<Doubts> {
  return sumOf((await doubtsByChat(store)).values())
}

/** Returns the same for each chat, by `<channel>:<chat's id>`, for example `tg:1`. Chats without a ledger are absent. */
export async function doubtsByChat({ list }: Pick<Store, 'list'>): Promise<ReadonlyMap<string, Doubts>> {
  const found = new Map<string, Doubts>()
  for (const { key, value } of await list('ledger/')) {
    const [, channel = '', ledgerKey = ''] = /^ledger\/([^/]*)\/(.*)$/.exec(key) ?? []
    const chat = `${channel}:${ledgerKeyOf(ledgerKey)?.chat.id ?? ''}`
    found.set(chat, sumOf([found.get(chat) ?? noDoubts, doubtsOf(JSON.parse(value))]))
  }
  return found
}

function doubtsOf({ doubtful, entries }: StoredLedger): Doubts {
  const posts = doubtful + entries.filter(({ state }) => state === 'intent').length
  const passing = entries.filter(({ state, type }) => /^(doubtful|intent)$/.test(state) && type === 'status')
  return { posts, lasting: posts - passing.length }
}

function sumOf(all: Iterable<Doubts>): Doubts {
  let { posts, lasting } = noDoubts
  for (const one of all) {
    posts += one.posts
    lasting += one.lasting
  }
  return { posts, lasting }
}

interface StoredLedger {
  readonly doubtful: number
  readonly entries: readonly { readonly state: string; readonly type: string }[]
}
