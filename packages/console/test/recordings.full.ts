import { showRecordings } from './recordings.ts'

showRecordings((version) => !['1.1.65', '1.18.33'].includes(version))
