import type { LedgerStore } from '@reply/sink'
import type { State } from '../state/state.ts'
import type { StoredValue } from '../store/store.ts'

/** How long it is known that a call came too late, in ms: as long as the ledger of its reply. */
const keptMs = 2_592_000_000
/** How many replies are listened to: those of runs that ended before are corrected no more. */
const mostListening = 100

type Late = NonNullable<LedgerStore['late']>

/** Tells of a channel's calls that came too late, through the bridge's state: by the ledger's key, the message's id. */
export interface ChannelLateEdits extends Late {
  /** Passes on what other processes told. */
  passOn(): Promise<void>
}

export function createLateEdits(
  state: Pick<State, 'list' | 'commit' | 'leave'>,
  channel: string,
  now: () => number,
): ChannelLateEdits {
  const prefix = `late/${channel}/`
  const listeners = new Map<string, Parameters<Late['listen']>[1]>()
  let isPassing = false
  return { report: tell, listen, passOn }

  async function tell(key: string, { id }: Parameters<Late['report']>[1]): Promise<void> {
    await state.leave([{ type: 'put', key: prefix + key, value: id, expiresAt: now() + keptMs }])
  }

  function listen(key: string, listener: Parameters<Late['listen']>[1]): () => void {
    listeners.delete(key)
    listeners.set(key, listener)
    const [oldest] = listeners.keys()
    if (listeners.size > mostListening && oldest !== undefined) listeners.delete(oldest)
    return () => {
      if (listeners.get(key) === listener) listeners.delete(key)
    }
  }

  async function passOn(): Promise<void> {
    if (isPassing || listeners.size === 0) return
    isPassing = true
    try {
      const rows = await state.list(prefix)
      await Promise.all(rows.map(pass))
    } finally {
      isPassing = false
    }
  }

  async function pass({ key, value }: StoredValue): Promise<void> {
    const listener = listeners.get(key.slice(prefix.length))
    if (!listener) return
    await listener({ id: value })
    await state.commit([{ type: 'compare-and-set', key, expected: value, value: undefined }])
  }
}
