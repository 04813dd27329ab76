import type { Clock } from '@reply/core'
import type { BridgeChannel } from '@reply/sink/channel'
import type { SecretSource } from '@reply/sink/internal'
import type { Store } from './store.ts'

/**
 * A kind of state that a bridge can load by the `type` of its config's `state`. A package exports one as `bridgeStore` from its
 * path `/bridge`.
 */
export interface BridgeStore<Settings = unknown> {
  /** Parses the `state` of a config: a strict object with `type`. Each field has a description. */
  readonly schema: BridgeChannel<Settings>['schema']
  /** Opens the state, and creates it if it does not exist. Rejects with a `StoreError`. */
  open(settings: Settings, host: StoreHost): Promise<Store>
  /**
   * Opens an existing state beside a running bridge, for commands that read or repair it. Undefined if there is none. Creates
   * and migrates nothing. Rejects with a `StoreError`.
   */
  openExisting(settings: Settings, host: StoreHost): Promise<Store | undefined>
  /**
   * Checks that a bridge could use the state, and changes nothing. Resolves with sentences about it, for example
   * `PostgreSQL 17.2 at db:5432, can be written to`. Rejects with an error that says what failed and how to fix it.
   */
  check(settings: Settings, host: StoreHost): Promise<readonly string[]>
}

/** The program that opens a state. */
export interface StoreHost {
  /**
   * Reads a secret. If it is missing or blank, throws an error that says how to fix it. Errors of this process don't contain it
   * afterwards. If it is a URL with a password, `parts` returns what must not be in errors, so that they can name its host.
   */
  readonly secret: (source: SecretSource, parts?: (secret: string) => readonly string[]) => string
  /** Decides when values expire, unless the state has a clock of its own. Default: the computer's clock. */
  readonly clock?: Clock | undefined
  /** Called with what an operator should know while the state is used, one sentence or two. */
  readonly onNotice?: ((notice: string) => void) | undefined
}
