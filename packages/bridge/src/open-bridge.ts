import { systemClock } from '@reply/core'
import { safeOnError } from '@reply/core/internal'
import type { Bridge, BridgeOptions } from './bridge.ts'
import { createBridge } from './bridge.ts'
import { loadConfig } from './config/load.ts'
import { fileStampOf, watchConfig } from './config/watch.ts'
import { configuredState, type LoadStore } from './store/load-store.ts'

/** Options of `openBridge`. */
export interface OpenBridgeOptions extends Omit<BridgeOptions, 'config' | 'store' | 'secret' | 'ownPaths'> {
  /** The path of the config. */
  readonly path: string
  /** The environment variables for secrets. Default: those of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Loads the package of the state. Default: `@reply/<type>`. SQLite needs none. */
  readonly loadStore?: LoadStore | undefined
}

/** A bridge that follows its config file. A list that you pass to `setPeople` holds until the file changes. */
export interface OpenedBridge extends Bridge {
  /**
   * Reloads the file now. Otherwise, the bridge reloads it within 2 s of a change. Never rejects: errors of the file go to
   * `onError`.
   */
  reload(): Promise<void>
}

/**
 * Reads the config and opens the state. Rejects with `BridgeError` of type `config` or `state`, or with `StoreError`. The bridge
 * does nothing before `start`. From then on it follows the file. Changes of `people` take effect within 2 s, others after a
 * restart, and `onNotice` says so. A file that can't be used never grants anything, and its error goes to `onError`.
 */
export async function openBridge({
  path,
  env = process.env,
  loadStore: load,
  ...options
}: OpenBridgeOptions): Promise<OpenedBridge> {
  const stamp = await fileStampOf(path)
  const loaded = loadConfig(path, env)
  const { config, secret, ownPaths } = loaded
  const { clock, onNotice } = options
  const store = await (await configuredState(loaded, { load, clock, onNotice })).open()
  const bridge = createBridge({ ...options, config, secret, store, ownPaths })
  const watch = watchConfig({
    path,
    config,
    stamp,
    setPeople: bridge.setPeople,
    clock: options.clock ?? systemClock,
    load: () => loadConfig(path, env).config,
    onNotice: options.onNotice ?? (() => {}),
    onError: safeOnError(options.onError),
  })
  return {
    ...bridge,
    start: async () => {
      watch.start()
      try {
        await bridge.start()
      } catch (error) {
        watch.stop()
        throw error
      }
    },
    stop: async () => {
      watch.stop()
      await bridge.stop()
    },
    setPeople: (people) => {
      bridge.setPeople(people)
      watch.onPeopleReplaced(people)
    },
    reload: watch.readNow,
  }
}
