export { type SqliteStoreOptions, sqliteStore } from './store/sqlite.ts'
export {
  type Committed,
  type Lease,
  type LeaseRequest,
  type QueuedValue,
  type Store,
  type StoredValue,
  StoreError,
  type StoreErrorType,
  type Write,
} from './store/store.ts'
