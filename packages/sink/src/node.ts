export { fileStore } from './ledger/file-store.ts'
