export { createFileReader, type FileReaderOptions } from './inbound/file-reader.ts'
export { secretComparer } from './inbound/secret-comparer.ts'
export { fileStore } from './ledger/file-store.ts'
