import type { LoadedConfig } from '../config/load.ts'
import { parseState } from '../config/parse.ts'
import { BridgeError, messageOf } from '../error.ts'
import type { BridgeStore, StoreHost } from './bridge-store.ts'
import { sqliteState } from './sqlite/config.ts'
import type { Store } from './store.ts'

/** Loads a kind of state by the `type` of a config's `state`. Rejects with `BridgeError` of type `state`. */
export type LoadStore = (type: string) => Promise<BridgeStore>

/** The calls of a `BridgeStore` for the state of one config. They reject as those do. */
export interface ConfiguredState {
  /** Opens the state, and creates it if it does not exist. */
  open(): Promise<Store>
  /** Opens an existing state beside a running bridge. Undefined if there is none. */
  openExisting(): Promise<Store | undefined>
  /** Checks the state, and resolves with sentences about it. */
  check(): Promise<readonly string[]>
}

/**
 * Imports `bridgeStore` from `@reply/<type>/bridge`. `sqlite` needs no package. Rejects with a `BridgeError` if there is no such
 * package or export.
 */
export async function loadStore(type: string): Promise<BridgeStore> {
  if (type === 'sqlite') return sqliteState
  const name = `@reply/${type}`
  let loaded: { readonly bridgeStore?: BridgeStore }
  try {
    loaded = await import(`${name}/bridge`)
  } catch (cause) {
    throw new BridgeError(
      'state',
      `${name} could not be loaded: ${messageOf(cause)}. Install it with "npm install ${name}", or correct the type of \`state\`.`,
      { cause },
    )
  }
  if (loaded.bridgeStore) return loaded.bridgeStore
  throw new BridgeError('state', `${name} can't keep the state of a bridge: it has no export "bridgeStore".`)
}

/**
 * Loads the kind of state that a config names, and checks its settings. Rejects with `BridgeError` of type `state` if it can't be
 * loaded, and of type `config` if its settings are invalid.
 */
export async function configuredState(
  { state, secret }: Pick<LoadedConfig, 'state' | 'secret'>,
  { load = loadStore, ...host }: { readonly load?: LoadStore | undefined } & Pick<StoreHost, 'clock' | 'onNotice'> = {},
): Promise<ConfiguredState> {
  const store = await load(state.type)
  const settings = parseState(store.schema, state)
  const whole: StoreHost = { ...host, secret }
  return {
    open: async () => await store.open(settings, whole),
    openExisting: async () => await store.openExisting(settings, whole),
    check: async () => await store.check(settings, whole),
  }
}
