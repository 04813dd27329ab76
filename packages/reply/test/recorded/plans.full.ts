import { playPlans } from './plans.ts'

playPlans({ first: 501, count: 2250 })
