export type { Bridge, BridgeOptions, BridgeStatus, Connect } from './bridge.ts'
export { createBridge } from './bridge.ts'
export { parseConfig } from './config/parse.ts'
export type { BridgeConfig } from './config/schema.ts'
export { BridgeError, type BridgeErrorType } from './error.ts'
export type { BridgeObserver } from './events/emit.ts'
export type { BridgeEvent } from './events/event.ts'
export { type BridgeLogOptions, bridgeLog } from './events/log.ts'
export { type BridgeMetrics, bridgeMetrics } from './events/metrics.ts'
export { type FailedItem, forgetRow, listFailed } from './failed/list-failed.ts'
export { type OpenBridgeOptions, type OpenedBridge, openBridge } from './open-bridge.ts'
export { type ServedBridge, type ServeOptions, serveBridge } from './serve-bridge.ts'
export { type CheckedPart, type CheckOptions, checkBridge } from './setup/check-bridge.ts'
export type { Choice, Questions, TextOptions } from './setup/init-bridge.ts'
export { defaultConfigPath, type InitOptions, initBridge } from './setup/init-bridge.ts'
export type { BridgeStore, StoreHost } from './store/bridge-store.ts'
export type { LoadStore } from './store/load-store.ts'
export { type SqliteStoreOptions, sqliteStore } from './store/sqlite/sqlite-store.ts'
export {
  type Beat,
  type BeatRequest,
  type Committed,
  type QueuedValue,
  type Store,
  type StoredValue,
  StoreError,
  type StoreErrorType,
  type StoreLease,
  type UsedCalls,
  type Write,
} from './store/store.ts'
export type { StateCounts } from './transfer/state-file.ts'
export {
  type ExportStateOptions,
  exportState,
  type ImportStateOptions,
  importState,
} from './transfer/transfer-state.ts'
