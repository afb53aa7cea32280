; The axioms of bits.acsl, each by its name, on bit vectors of 66 bits in two's
; complement, which hold all numbers that the code has. wp.py asserts the
; negation of each, to which z3 must answer unsat. A hexadecimal constant would
; need whole digits.
; SPDX-License-Identifier: 0BSD
(define-sort Z () (_ BitVec 66))
(declare-const a Z)
(declare-const b Z)
(define-fun within ((x Z) (low Z) (high Z)) Bool
    (and (bvsle low x) (bvsle x high)))
(define-fun top () Z (_ bv18446744073709551615 66))
(define-fun or_20 () Bool
    (=> (within a (_ bv0 66) (_ bv255 66))
        (= (bvor a (_ bv32 66))
            (ite (= (bvurem (bvudiv a (_ bv32 66)) (_ bv2 66)) (_ bv0 66))
                (bvadd a (_ bv32 66)) a))))
(define-fun or_20_below () Bool
    (=> (within a (_ bv73786976294838206336 66) (_ bv73786976294838206463 66))
        (bvslt (bvor a (_ bv32 66)) (_ bv0 66))))
(define-fun and_not_20 () Bool
    (=> (within a (_ bv0 66) (_ bv255 66))
        (= (bvand a (bvnot (_ bv32 66)))
            (ite (= (bvurem (bvudiv a (_ bv32 66)) (_ bv2 66)) (_ bv0 66)) a
                (bvsub a (_ bv32 66))))))
(define-fun and_not_20_below () Bool
    (=> (within a (_ bv73786976294838206336 66) (_ bv73786976294838206463 66))
        (bvslt (bvand a (bvnot (_ bv32 66))) (_ bv0 66))))
; These lowest bits of a number that the code has are its remainder.
(define-fun keeps ((bits Z)) Bool
    (=> (within a (_ bv0 66) top)
        (= (bvand a bits) (bvurem a (bvadd bits (_ bv1 66))))))
(define-fun and_1 () Bool (keeps (_ bv1 66)))
(define-fun and_3 () Bool (keeps (_ bv3 66)))
(define-fun and_7 () Bool (keeps (_ bv7 66)))
(define-fun and_0F () Bool (keeps (_ bv15 66)))
(define-fun and_7F () Bool (keeps (_ bv127 66)))
(define-fun and_FF () Bool (keeps (_ bv255 66)))
(define-fun and_70 () Bool
    (=> (within a (_ bv0 66) (_ bv255 66))
        (= (bvand a (_ bv112 66))
            (bvmul (bvurem (bvudiv a (_ bv16 66)) (_ bv8 66)) (_ bv16 66)))))
; This bit is set if the number holds its value an odd number of times.
(define-fun bit_is ((bit Z)) Bool
    (=> (within a (_ bv0 66) top)
        (= (not (= (bvand a bit) (_ bv0 66)))
            (= (bvurem (bvudiv a bit) (_ bv2 66)) (_ bv1 66)))))
(define-fun bit_0 () Bool (bit_is (_ bv1 66)))
(define-fun bit_3 () Bool (bit_is (_ bv8 66)))
(define-fun bit_7 () Bool (bit_is (_ bv128 66)))
(define-fun bit_63 () Bool
    (=> (within a (_ bv0 66) top)
        (= (not (= (bvlshr a (_ bv63 66)) (_ bv0 66)))
            (bvsge a (_ bv9223372036854775808 66)))))
; A shift by n multiplies, if the product is a number that the code has.
(define-fun left ((n Z) (by Z)) Bool
    (=> (within a (_ bv0 66) (bvudiv top by)) (= (bvshl a n) (bvmul a by))))
(define-fun left_4 () Bool (left (_ bv4 66) (_ bv16 66)))
(define-fun left_8 () Bool (left (_ bv8 66) (_ bv256 66)))
; A multiple of this and a smaller number have no bit in common.
(define-fun apart ((x Z) (y Z) (by Z)) Bool
    (and (= (bvurem x by) (_ bv0 66)) (bvult y by)))
(define-fun or_adds ((by Z)) Bool
    (=> (and (within a (_ bv0 66) top) (within b (_ bv0 66) top)
            (or (apart a b by) (apart b a by)))
        (= (bvor a b) (bvadd a b))))
(define-fun or_digit () Bool (or_adds (_ bv16 66)))
(define-fun or_byte () Bool (or_adds (_ bv256 66)))
(define-fun high_bits () Bool
    (= (= (bvand (bvor a b) (_ bv9259542123273814144 66)) (_ bv0 66))
        (and (= (bvand a (_ bv9259542123273814144 66)) (_ bv0 66))
            (= (bvand b (_ bv9259542123273814144 66)) (_ bv0 66)))))
(define-fun wrap_8 () Bool
    (=> (within a (_ bv73786976294838206208 66) (_ bv73786976294838206463 66))
        (= ((_ zero_extend 58) ((_ extract 7 0) a)) (bvadd a (_ bv256 66)))))
(define-fun cut_8 () Bool
    (=> (within a (_ bv0 66) top)
        (= ((_ zero_extend 58) ((_ extract 7 0) a)) (bvurem a (_ bv256 66)))))
(define-fun wrap_64 () Bool
    (=> (within a (bvneg (bvadd top (_ bv1 66))) (_ bv73786976294838206463 66))
        (= ((_ zero_extend 2) ((_ extract 63 0) a)) (bvadd a top (_ bv1 66)))))
