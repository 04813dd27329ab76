import { testRestarts } from './restarted-answers.ts'

testRestarts(Array.from({ length: 21 }, (_, index) => 2 + index))
