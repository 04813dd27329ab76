import { testOvertaken } from './open-window.ts'

// `open-window.nightly.ts` has more rounds, 1.1.65 and OpenCode 2.
testOvertaken('1.18.34', { rounds: 2 })
