import { showRecordings } from './recordings.ts'

showRecordings((version) => version !== '1.18.33')
